import type { ListedSandbox, ListedServer } from "../../../src/fleet/snapshot.ts";
import type { Status } from "../../../src/fleet/model.ts";
import type { Deviation } from "../../../src/fleet/deviation.ts";
import { createWalker, Deviations } from "../../../src/service/deviations.ts";

import { isArray, isObject, parseJson } from "../../../src/service/json.ts";
import type { JsonObject, JsonValue } from "../../../src/service/json-value.ts";
import { keptListingSchema } from "../../../src/service/schemas.ts";

/** What a body says when it is parsed as a whole, read for its reader rather than for the machine. */
export type Reading =
  | "refused"
  | {
      readonly sandboxes: readonly ListedSandbox[];
      readonly complete: boolean;
      /** How many items and texts cannot be kept. */
      readonly unkept: number;
      readonly deviations: readonly string[];
    };

const sandboxes = "local_sandboxes[]";
const servers = "local_sandboxes[].servers[]";
const walker = createWalker(keptListingSchema);

export function referenceReading(body: Buffer): Reading {
  let root: JsonValue;
  try {
    root = parseJson(body);
  } catch {
    return "refused";
  }
  if (!isObject(root) || !isArray(root["local_sandboxes"])) return "refused";
  const { local_sandboxes: items, total_count: totalCount } = root;
  const deviations = new Deviations();
  walker.compare(root, deviations);
  const joined = new Map<string, ListedSandbox>();
  let [unkept, lost] = [0, 0];
  for (const item of items) {
    const read = readSandbox(item);
    deviations.add(read.deviations.list());
    unkept += read.unkept;
    const { sandbox } = read;
    if (!sandbox) {
      lost++;
      continue;
    }
    const duplicate = joined.get(sandbox.id);
    joined.set(sandbox.id, duplicate ? join(duplicate, sandbox, deviations) : sandbox);
  }
  const isCounted = totalCount === joined.size + lost;
  if (Number.isInteger(totalCount) && !isCounted) deviations.note("total_count", "mismatch");
  return {
    sandboxes: [...joined.values()],
    complete: isCounted && unkept === 0,
    unkept,
    deviations: inOrder(deviations.list()),
  };
}

export function inOrder(deviations: readonly Deviation[]): readonly string[] {
  return deviations
    .map((each) => JSON.stringify([each.field, each.problem, each.count]))
    .toSorted();
}

/** The comparison with the schema notes the other problems: a wrong type, a text that is too long. */
function readSandbox(item: JsonValue) {
  const deviations = new Deviations(Infinity);
  let unkept = 0;

  const readId = (value: JsonValue | undefined, field: string): string | null => {
    if (typeof value !== "string" || value === "" || value.length > 512) return null;
    if (!value.includes("\u0000") && value.isWellFormed()) return value;
    deviations.note(field, "invalid_character");
    return null;
  };
  /** Null: there is no such text, or it cannot be kept. */
  const readText = (value: JsonValue | undefined, field: string): string | null => {
    if (typeof value !== "string") return null;
    const isTooLong = value.length > 256;
    if (!isTooLong && !value.includes("\u0000")) return value.toWellFormed();
    if (!isTooLong) deviations.note(field, "invalid_character");
    unkept++;
    return null;
  };
  const readTags = (value: JsonValue | undefined): readonly string[] => {
    const tags = isArray(value) ? value : [];
    const kept = tags.flatMap((tag) => readText(tag, `${servers}.tags[]`) ?? []);
    for (const _ of kept.slice(64)) deviations.note(`${servers}.tags`, "too_many");
    if (kept.length > 64) unkept++;
    return kept.slice(0, 64);
  };
  const readServer = (each: JsonValue): ListedServer | null => {
    if (!isObject(each)) return null;
    const id = readId(each["id"], `${servers}.id`);
    if (id === null) return null;
    return {
      id,
      name: readText(each["server_name"], `${servers}.server_name`),
      status: readStatus(each),
      benchmark: readText(each["benchmark"], `${servers}.benchmark`),
      tags: readTags(each["tags"]),
    };
  };

  const nothing = { sandbox: null, unkept: 1, deviations };
  if (!isObject(item)) return nothing;
  const id = readId(item["local_sandbox_id"], `${sandboxes}.local_sandbox_id`);
  if (id === null || !isArray(item["servers"])) return nothing;
  const itself = {
    id,
    status: readStatus(item),
    benchmark: readText(item["benchmark"], `${sandboxes}.benchmark`),
    createdAt: readInstant(item["created_at"]),
  };
  const read = item["servers"].map(readServer);
  unkept += read.filter((server) => server === null).length;
  const found = joinServers(
    read.filter((server) => server !== null),
    deviations,
  );
  return { sandbox: { ...itself, servers: found }, unkept, deviations };
}

function readStatus({ status }: JsonObject): Status | null {
  if (status === undefined || status === null) return null;
  return status === "idle" || status === "occupied" || status === "error" ? status : "unknown";
}

function join(one: ListedSandbox, other: ListedSandbox, deviations: Deviations): ListedSandbox {
  deviations.note(`${sandboxes}.local_sandbox_id`, "duplicate");
  const textsOf = ({ benchmark, createdAt }: ListedSandbox) => [
    benchmark,
    createdAt?.toString() ?? null,
  ];
  const itself = rank([one.status, textsOf(one)], [other.status, textsOf(other)]);
  const { benchmark, createdAt } = itself < 0 ? other : one;
  const status = worstOf(one.status, other.status);
  const joined = joinServers([...one.servers, ...other.servers], deviations);
  return { id: one.id, status, benchmark, createdAt, servers: joined };
}

/** Each once, the worst of those with the same id. */
function joinServers(
  all: readonly ListedServer[],
  deviations: Deviations,
): readonly ListedServer[] {
  const textsOf = ({ name, benchmark, tags }: ListedServer) => [name, benchmark, ...tags];
  const found = new Map<string, ListedServer>();
  for (const server of all) {
    const duplicate = found.get(server.id);
    if (duplicate) deviations.note(`${servers}.id`, "duplicate");
    const isWorse =
      !duplicate ||
      rank([duplicate.status, textsOf(duplicate)], [server.status, textsOf(server)]) < 0;
    const status = worstOf(server.status, duplicate?.status ?? null);
    found.set(server.id, { ...(isWorse ? server : duplicate), status });
  }
  return [...found.values()];
}

const order: readonly (Status | null)[] = [null, "unknown", "idle", "occupied", "error"];

function worstOf(one: Status | null, other: Status | null): Status | null {
  return order.indexOf(one) < order.indexOf(other) ? other : one;
}

/** Of many forms, those that the interface's examples show, and UTC. */
function readInstant(value: JsonValue | undefined): number | null {
  const text = typeof value === "string" && value.length <= 64 ? value : "";
  const [, date, time, offset] =
    /^([\d-]{10})[T ]([\d:.]{5,50}?)(Z|[+-]\d\d:\d\d)$/.exec(text) ?? [];
  const ms = date && time && offset ? Date.parse(`${date}T${time}${offset}`) : Number.NaN;
  return Number.isNaN(ms) ? null : ms;
}

type Ranked = readonly [status: Status | null, texts: readonly (string | null)[]];

/** Negative where the second one is worse; between equal statuses, where its texts sort later. */
function rank([statusA, a]: Ranked, [statusB, b]: Ranked): number {
  // A status that is absent is as bad as an unknown one.
  const [rankA, rankB] = [statusA, statusB].map((status) => order.indexOf(status ?? "unknown"));
  if (rankA !== rankB) return (rankA ?? 0) - (rankB ?? 0);
  // A text that is not there comes before any other.
  const keyOf = (text: string | null | undefined): string =>
    typeof text === "string" ? `1${text}` : "0";
  for (let at = 0; at < Math.max(a.length, b.length); at++) {
    const [textA, textB] = [keyOf(a[at]), keyOf(b[at])];
    if (textA !== textB) return textA < textB ? -1 : 1;
  }
  return 0;
}
