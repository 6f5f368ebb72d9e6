import { z } from "zod";
import type { Deviation, DeviationProblem } from "../fleet/deviation.ts";
import type { ListedSandbox, ListedServer } from "../fleet/snapshot.ts";
import type { Status } from "../fleet/model.ts";
import { createWalker, Deviations, shapeOf } from "./deviations.ts";
import { isArray, isObject } from "./json.ts";
import type { JsonObject, JsonValue } from "./json-value.ts";
import { keptSandboxSchema, keptServerSchema, maxIdLength, maxNameLength } from "./schemas.ts";

export const sandboxesField = "local_sandboxes[]";
export const serversField = `${sandboxesField}.servers[]`;
const maxTags = 64;
const maxFirstUnkept = 20;

/** Something that a listing shows and that cannot be kept: an item of it, or a text of an item. */
export interface Unkept {
  /** Such as `local_sandboxes[3].servers[0].id`; the numbers count from 0, in the order of the listing. */
  readonly place: string;
  readonly problem: DeviationProblem;
  /** The shape of what was found, such as `text of 2,000 characters`; null: nothing was there. */
  readonly found: string | null;
  /** What is not monitored because of it; null: only this text is not kept. */
  readonly lost: "sandbox" | "server" | null;
  readonly sandboxId: string | null;
  readonly serverId: string | null;
}

const maxCommon = 8_192;
const noTags: readonly string[] = [];
const noDeviations: readonly Deviation[] = [];

/**
 * What many servers have in common, each kept once. What was parsed has a copy of its own of each, and a snapshot
 * lives long.
 */
export class CommonTexts {
  private readonly texts = new Map<string, string>();
  private readonly tags = new Map<string, readonly string[]>();
  private readonly found = new Map<string, readonly Deviation[]>();

  text(text: string): string {
    return keep(this.texts, text, () => text);
  }

  tagsOf(tags: readonly string[]): readonly string[] {
    return tags.length === 0 ? noTags : keep(this.tags, JSON.stringify(tags), () => tags);
  }

  /** A copy: the name of a field may be a part of a longer text. */
  deviations(deviations: readonly Deviation[]): readonly Deviation[] {
    if (deviations.length === 0) return noDeviations;
    return keep(this.found, JSON.stringify(deviations), () => structuredClone(deviations));
  }
}

function keep<Value>(known: Map<string, Value>, key: string, create: () => Value): Value {
  const found = known.get(key);
  if (found !== undefined) return found;
  if (known.size >= maxCommon) known.clear();
  const created = create();
  known.set(key, created);
  return created;
}

/** Nearly every item is as the interface promises: this costs far less than to look for deviations. */
const promised = z.compile(
  keptSandboxSchema.strict().extend({ servers: z.array(keptServerSchema.strict()) }),
);
const sandboxWalker = createWalker(keptSandboxSchema, sandboxesField);

/**
 * Takes of the parsed items of a listing what is kept. Addresses, metadata, authentication data and times are left
 * behind here: they may hold secrets, and nothing needs them. A text that cannot be kept is null, or missing from its
 * list.
 */
export class SandboxReader {
  /** Those of the last item. Without a limit: which of them are counted apart depends on the items before. */
  deviations = new Deviations(Infinity);
  /** Items and texts that cannot be kept: the first of them, and how many there are. */
  readonly unkept = { count: 0, first: [] as Unkept[] };
  private readonly common: CommonTexts;
  private item = 0;
  private server: number | null = null;
  private sandboxId: string | null = null;
  private serverId: string | null = null;

  constructor(common: CommonTexts) {
    this.common = common;
  }

  /**
   * @param index of the item in the listing
   * @returns null for an item without a usable id or without a list of servers
   */
  read(item: JsonValue, index: number): ListedSandbox | null {
    this.item = index;
    this.server = this.sandboxId = this.serverId = null;
    if (!this.deviations.isEmpty) this.deviations = new Deviations(Infinity);
    if (!promised.validate(item)) sandboxWalker.compare(item, this.deviations);
    if (!isObject(item)) return this.lose("", item, "sandbox");
    const id = this.readId(item, "local_sandbox_id", "sandbox");
    if (id === null) return null;
    const { servers: items } = item;
    if (!isArray(items)) return this.lose(".servers", items, "sandbox");
    this.sandboxId = id;
    const benchmark = this.readText(item, "benchmark");
    const servers = new Map<string, ListedServer>();
    for (let at = 0; at < items.length; at++) {
      const server = this.readServer(items[at], at);
      if (!server) continue;
      const known = servers.get(server.id);
      if (known) this.deviations.note(`${serversField}.id`, "duplicate");
      servers.set(server.id, known ? worseServer(known, server) : server);
    }
    return {
      id,
      status: readStatus(item),
      benchmark,
      createdAt: readInstant(item["created_at"]),
      servers: [...servers.values()],
    };
  }

  private readServer(item: JsonValue | undefined, index: number): ListedServer | null {
    this.server = index;
    this.serverId = null;
    if (!isObject(item)) return this.lose("", item, "server");
    const id = this.readId(item, "id", "server");
    if (id === null) return null;
    this.serverId = id;
    return {
      id,
      name: this.readText(item, "server_name"),
      status: readStatus(item),
      benchmark: this.readText(item, "benchmark"),
      tags: this.readTags(item),
    };
  }

  /** An id is kept exactly as it is, or not at all: a changed one could be that of another server. */
  private readId(item: JsonObject, name: string, lost: "sandbox" | "server"): string | null {
    const id = item[name];
    if (typeof id !== "string") return this.lose(`.${name}`, id, lost);
    if (id === "") return this.lose(`.${name}`, id, lost, "empty");
    if (id.length > maxIdLength) return this.lose(`.${name}`, id, lost, "too_long");
    const isKept = id.isWellFormed() && !id.includes("\0");
    return isKept ? id : this.lose(`.${name}`, id, lost, "invalid_character");
  }

  private readText(item: JsonObject, name: string): string | null {
    const text = item[name];
    if (typeof text !== "string") return null;
    const problem = problemOfText(text);
    return problem
      ? this.lose(`.${name}`, text, null, problem)
      : this.common.text(text.toWellFormed());
  }

  private readTags({ tags: items }: JsonObject): readonly string[] {
    if (!isArray(items) || items.length === 0) return noTags;
    const tags: string[] = [];
    let surplus = 0;
    for (const [index, tag] of items.entries()) {
      if (typeof tag !== "string") continue;
      const problem = problemOfText(tag);
      if (problem) this.lose(`.tags[${index}]`, tag, null, problem);
      else if (tags.length < maxTags) tags.push(tag.toWellFormed());
      else surplus++;
    }
    if (surplus > 0) {
      this.deviations.note(`${serversField}.tags`, "too_many", undefined, surplus);
      this.lose(".tags", items, null, "too_many");
    }
    return this.common.tagsOf(tags);
  }

  /** Notes what cannot be kept. Other deviations than its characters were found by the comparison. */
  private lose(
    part: string,
    value: JsonValue | undefined,
    lost: Unkept["lost"],
    problem: DeviationProblem = problemOfType(value),
  ): null {
    const { server, sandboxId, serverId, unkept } = this;
    if (problem === "invalid_character") {
      const field = server === null ? sandboxesField : serversField;
      this.deviations.note(field + part.replace(/\[\d+\]/, "[]"), problem, value);
    }
    unkept.count++;
    if (unkept.first.length === maxFirstUnkept) return null;
    const ofServer = server === null ? "" : `.servers[${server}]`;
    const place = `local_sandboxes[${this.item}]${ofServer}${part}`;
    const found = value === undefined || value === null ? null : shapeOf(value);
    unkept.first.push({ place, problem, found, lost, sandboxId, serverId });
    return null;
  }
}

function problemOfType(value: JsonValue | undefined): DeviationProblem {
  if (value === undefined) return "missing";
  return value === null ? "null" : "wrong_type";
}

/** No database keeps a NUL character in a text. */
function problemOfText(text: string): DeviationProblem | null {
  if (text.length > maxNameLength) return "too_long";
  return text.includes("\0") ? "invalid_character" : null;
}

function readStatus({ status }: JsonObject): Status | null {
  if (status === undefined || status === null) return null;
  return status === "idle" || status === "occupied" || status === "error" ? status : "unknown";
}

/** Of a time without an offset from UTC the instant is not known. */
const instantPattern = /^\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:\d\d)$/;

function readInstant(text: JsonValue | undefined): number | null {
  if (typeof text !== "string" || text.length > 64 || !instantPattern.test(text)) return null;
  const ms = Date.parse(text);
  return Number.isNaN(ms) ? null : ms;
}

const badness: Readonly<Record<Status, number>> = { unknown: 0, idle: 1, occupied: 2, error: 3 };

/**
 * Of two items with one id the worse one is believed, whatever their order: a service that changes it from listing to
 * listing would make alerts flap otherwise. Between equal statuses it is the one whose texts sort later. A status that
 * is absent is as bad as an unknown one.
 */
function worseOf<Item extends ListedSandbox | ListedServer>(
  one: Item,
  other: Item,
  textsOf: (item: Item) => readonly (string | null)[],
): Item {
  const difference = badness[one.status ?? "unknown"] - badness[other.status ?? "unknown"];
  const worse = (difference || compareTexts(textsOf(one), textsOf(other))) < 0 ? other : one;
  const status = one.status ?? other.status;
  return worse.status === null && status !== null ? { ...worse, status } : worse;
}

/** Which servers it has is not looked at. */
export function worseSandbox(one: ListedSandbox, other: ListedSandbox): ListedSandbox {
  return worseOf(one, other, ({ benchmark, createdAt }) => [
    benchmark,
    createdAt === null ? null : `${createdAt}`,
  ]);
}

export function worseServer(one: ListedServer, other: ListedServer): ListedServer {
  return worseOf(one, other, ({ name, benchmark, tags }) => [name, benchmark, ...tags]);
}

function compareTexts(one: readonly (string | null)[], other: readonly (string | null)[]): number {
  for (let at = 0; at < Math.max(one.length, other.length); at++) {
    const a = one[at] ?? null;
    const b = other[at] ?? null;
    if (a !== b) return a === null || (b !== null && a < b) ? -1 : 1;
  }
  return 0;
}
