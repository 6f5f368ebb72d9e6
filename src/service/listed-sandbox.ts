import { worseServer } from "../fleet/duplicates.ts";
import { isServerAsKnown } from "../fleet/snapshot.ts";
import type { ListedSandbox, ListedServer, Sandbox, Server } from "../fleet/snapshot.ts";
import type { Status } from "../fleet/status.ts";
import type { DeviationProblem } from "../fleet/deviation.ts";
import type { Deviations } from "./deviations.ts";
import { isArray, isObject, type JsonObject, type JsonValue } from "./json.ts";
import { keptSandboxSchema, maxIdLength, maxNameLength } from "./schemas.ts";
import { createWalker } from "./walker.ts";
import { foundShape, problemOfIdValue, problemOfText } from "./unkept.ts";
import type { Unkept } from "./unkept.ts";

/**
 * Takes of a parsed item of a listing what is kept. Addresses, metadata, authentication data and times are left behind
 * here: they may hold secrets, and nothing needs them.
 *
 * Nearly every item is as the interface promises, and is taken by a hand-written guard in one pass. What that refuses
 * is held against the schemas, which find and count every deviation. The guard is an optimization: of what it takes,
 * the slow way makes the same, without a deviation.
 */

export const sandboxesField = "local_sandboxes[]";
export const serversField = "local_sandboxes[].servers[]";
const tagsField = "local_sandboxes[].servers[].tags";
const tagField = "local_sandboxes[].servers[].tags[]";
const maxTags = 64;

const sandboxWalker = createWalker(keptSandboxSchema, sandboxesField);

const noTags: readonly string[] = [];

/**
 * Texts that many servers have in common, each kept once. What was parsed has a copy of its own of each, and a
 * snapshot lives long.
 */
export class CommonTexts {
  private readonly texts = new Map<string, string>();
  private readonly tags = new Map<string, readonly string[]>();

  text(text: string): string {
    return keep(this.texts, text, text);
  }

  tagsOf(tags: readonly string[]): readonly string[] {
    return tags.length === 0 ? noTags : keep(this.tags, JSON.stringify(tags), tags);
  }
}

const maxCommon = 8_192;

function keep<Value>(known: Map<string, Value>, key: string, value: Value): Value {
  const found = known.get(key);
  if (found !== undefined) return found;
  if (known.size >= maxCommon) known.clear();
  known.set(key, value);
  return value;
}

/**
 * Takes an item that is as promised, holds nothing that could be nested, and no server twice. The text that it was
 * parsed from holds no backslash, so that no text in it can hold a lone surrogate or U+0000.
 *
 * @param known the sandbox as it was before; each server that is as it was is the object in there
 * @returns null for any other: it is to be read by `readSandbox`
 */
export function readPlainSandbox(
  item: JsonObject,
  known: Sandbox | null,
  common: CommonTexts,
): ListedSandbox | null {
  const { local_sandbox_id: id, status, benchmark, servers: items } = item;
  if (!isId(id) || typeof item["created_at"] !== "string") return null;
  if (!isStatusOrNone(status) || !isNameOrNone(benchmark) || !isArray(items)) return null;
  if (countFields(item) !== 3 + given(status) + given(benchmark)) return null;
  // To look for duplicates among very many takes too long here.
  if (items.length > 64) return null;
  const servers: ListedServer[] = [];
  for (const each of items) {
    const duplicate = known?.servers[servers.length];
    const server = isObject(each) ? readPlainServer(each, duplicate, common) : null;
    if (!server || servers.some((other) => other.id === server.id)) return null;
    servers.push(server);
  }
  return { id, status: readStatus(status), benchmark: readCommon(benchmark, common), servers };
}

function readPlainServer(
  item: JsonObject,
  known: Server | undefined,
  common: CommonTexts,
): ListedServer | null {
  const { id, server_name: name, mcp_server_url: url, status, benchmark, updated_at: at } = item;
  const { metadata, auth_data: auth, tags } = item;
  if (!isId(id) || !isNameOrNone(name) || !isStatusOrNone(status) || !isNameOrNone(benchmark)) {
    return null;
  }
  if (!isTextOrNone(url) || !isTextOrNone(at) || !isNone(metadata) || !isNone(auth)) return null;
  if (!isNone(tags) && !isPlainTags(tags)) return null;
  const fields =
    1 + given(name) + given(url) + given(status) + given(benchmark) + given(at) + given(metadata);
  if (countFields(item) !== fields + given(auth) + given(tags)) return null;
  const listed = {
    id,
    name: name ?? null,
    status: readStatus(status),
    benchmark: benchmark ?? null,
    tags: tags ?? noTags,
  };
  if (known && isServerAsKnown(known, listed)) return known;
  return {
    id,
    name: readCommon(name, common),
    status: listed.status,
    benchmark: readCommon(benchmark, common),
    tags: common.tagsOf(listed.tags),
  };
}

type Field = JsonValue | undefined;

function isId(value: Field): value is string {
  return typeof value === "string" && value.length > 0 && value.length <= maxIdLength;
}

function isNone(value: Field): value is null | undefined {
  return value === null || value === undefined;
}

function isTextOrNone(value: Field): value is string | null | undefined {
  return typeof value === "string" || isNone(value);
}

function isNameOrNone(value: Field): value is string | null | undefined {
  return typeof value === "string" ? value.length <= maxNameLength : isNone(value);
}

function isStatusOrNone(value: Field): value is string | null | undefined {
  return value === "idle" || value === "occupied" || value === "error" || isNone(value);
}

function isPlainTags(value: Field): value is readonly string[] {
  return (
    isArray(value) &&
    value.length <= maxTags &&
    value.every((tag) => typeof tag === "string" && tag.length <= maxNameLength)
  );
}

/** Whether a field is there. */
function given(value: Field): 0 | 1 {
  return value === undefined ? 0 : 1;
}

/** Far quicker than a list of the names, as objects that were parsed after one another have a shape in common. */
function countFields(item: JsonObject): number {
  let count = 0;
  // oxlint-disable-next-line guard-for-in, no-unused-vars -- what was parsed inherits nothing
  for (const _ in item) count++;
  return count;
}

function readCommon(text: string | null | undefined, common: CommonTexts): string | null {
  return isNone(text) ? null : common.text(text);
}

/** What an item is read with, beside the item. */
export interface ReadingContext {
  /** Of the item in the listing, such as `local_sandboxes[3]`. */
  readonly place: string;
  readonly deviations: Deviations;
  readonly common: CommonTexts;
  /** Told of each item and each text that cannot be kept. */
  readonly onUnkept: (unkept: Unkept) => void;
}

/**
 * Takes of any item what can be used. Servers listed twice are joined, the worse one being believed. A text that cannot
 * be kept is null, or missing from its list.
 *
 * @returns null for an item without a usable identity or without a list of servers
 */
export function readSandbox(item: JsonValue, context: ReadingContext): ListedSandbox | null {
  const { place, deviations, onUnkept } = context;
  const leaveOut = (part: string, problem: DeviationProblem, value: Field): null => {
    const ids = { sandboxId: null, serverId: null };
    onUnkept({ place: place + part, problem, found: foundShape(value), lost: "sandbox", ...ids });
    return null;
  };
  sandboxWalker.compare(item, deviations);
  if (!isObject(item)) return leaveOut("", item === null ? "null" : "wrong_type", item);
  const id = item["local_sandbox_id"];
  const problem = problemOfIdValue(id);
  noteCharacter(problem, `${sandboxesField}.local_sandbox_id`, id, deviations);
  if (problem !== null || typeof id !== "string") {
    return leaveOut(".local_sandbox_id", problem ?? "wrong_type", id);
  }
  const items = item["servers"];
  if (!isArray(items)) {
    const why = items === undefined ? "missing" : items === null ? "null" : "wrong_type";
    return leaveOut(".servers", why, items);
  }
  const reading: Reading = { ...context, sandboxId: id };
  const of = { place, field: sandboxesField, serverId: null };
  const benchmark = readName(item, "benchmark", of, reading);
  const servers = readServers(items, reading);
  return { id, status: readStatus(item["status"]), benchmark, servers };
}

interface Reading extends ReadingContext {
  readonly sandboxId: string;
}

/** Which item a text is of. */
interface Of {
  readonly place: string;
  /** Its name in deviations. */
  readonly field: string;
  /** Null: it is the sandbox's own. */
  readonly serverId: string | null;
}

function readServers(items: readonly JsonValue[], reading: Reading): readonly ListedServer[] {
  const servers = new Map<string, ListedServer>();
  for (const [index, item] of items.entries()) {
    const server = readServer(item, `${reading.place}.servers[${index}]`, reading);
    if (!server) continue;
    const duplicate = servers.get(server.id);
    if (duplicate) reading.deviations.note(`${serversField}.id`, "duplicate");
    servers.set(server.id, duplicate ? worseServer(duplicate, server) : server);
  }
  return [...servers.values()];
}

function readServer(item: JsonValue, place: string, reading: Reading): ListedServer | null {
  const { deviations, sandboxId, onUnkept } = reading;
  const leaveOut = (part: string, problem: DeviationProblem, value: Field): null => {
    const found = foundShape(value);
    onUnkept({ place: place + part, problem, found, lost: "server", sandboxId, serverId: null });
    return null;
  };
  if (!isObject(item)) return leaveOut("", item === null ? "null" : "wrong_type", item);
  const id = item["id"];
  const problem = problemOfIdValue(id);
  noteCharacter(problem, `${serversField}.id`, id, deviations);
  if (problem !== null || typeof id !== "string") {
    return leaveOut(".id", problem ?? "wrong_type", id);
  }
  const of: Of = { place, field: serversField, serverId: id };
  return {
    id,
    name: readName(item, "server_name", of, reading),
    status: readStatus(item["status"]),
    benchmark: readName(item, "benchmark", of, reading),
    tags: reading.common.tagsOf(readTags(item, of, reading)),
  };
}

/** Null, too, where the text cannot be kept. */
function readName(item: JsonObject, name: string, of: Of, reading: Reading): string | null {
  const value = item[name];
  if (typeof value !== "string") return null;
  const problem = problemOfText(value);
  if (problem === null) return reading.common.text(value.toWellFormed());
  noteCharacter(problem, `${of.field}.${name}`, value, reading.deviations);
  dropText(`.${name}`, problem, value, of, reading);
  return null;
}

function dropText(
  part: string,
  problem: DeviationProblem,
  value: JsonValue,
  { place, serverId }: Of,
  { sandboxId, onUnkept }: Reading,
): void {
  const found = foundShape(value);
  onUnkept({ place: place + part, problem, found, lost: null, sandboxId, serverId });
}

function readTags(server: JsonObject, of: Of, reading: Reading): readonly string[] {
  const { deviations } = reading;
  const items = server["tags"];
  if (!isArray(items) || items.length === 0) return noTags;
  const tags: string[] = [];
  let hasSurplus = false;
  for (const [index, item] of items.entries()) {
    if (typeof item !== "string") continue;
    const problem = problemOfText(item);
    if (problem !== null) {
      noteCharacter(problem, tagField, item, deviations);
      dropText(`.tags[${index}]`, problem, item, of, reading);
    } else if (tags.length < maxTags) tags.push(item.toWellFormed());
    else {
      deviations.note(tagsField, "too_many");
      hasSurplus = true;
    }
  }
  if (hasSurplus) dropText(".tags", "too_many", items, of, reading);
  return tags;
}

/** Whatever else is wrong with it, the walker has noted. */
function noteCharacter(
  problem: DeviationProblem | null,
  field: string,
  value: Field,
  deviations: Deviations,
): void {
  if (problem === "invalid_character") deviations.note(field, problem, value);
}

function readStatus(value: Field): Status {
  return value === "idle" || value === "occupied" || value === "error" ? value : "unknown";
}
