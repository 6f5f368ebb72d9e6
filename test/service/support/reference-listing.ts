import type { ListedSandbox, ListedServer } from "../../../src/fleet/snapshot.ts";
import type { Status } from "../../../src/fleet/status.ts";
import type { Deviation } from "../../../src/fleet/deviation.ts";
import { Deviations } from "../../../src/service/deviations.ts";
import { isArray, isObject } from "../../../src/service/json-value.ts";
import { parseJson } from "../../../src/service/json.ts";
import type { JsonObject, JsonValue } from "../../../src/service/json-value.ts";
import { keptListingSchema } from "../../../src/service/schemas.ts";
import { createWalker } from "../../../src/service/schema-walker.ts";

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
  if (!isObject(root)) return "refused";
  const { local_sandboxes: items, total_count: totalCount } = root;
  const deviations = new Deviations();
  walker.compare(root, deviations);
  if (!isArray(items)) return "refused";
  const joined = new Map<string, ListedSandbox>();
  let unkept = 0;
  let lost = 0;
  for (const item of items) {
    const ofItem = new Deviations(Infinity);
    const read = readSandbox(item, ofItem);
    deviations.add(ofItem.list());
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

function readSandbox(item: JsonValue, deviations: Deviations) {
  const nothing = { sandbox: null, unkept: 1 };
  if (!isObject(item)) return nothing;
  const id = readId(item["local_sandbox_id"], `${sandboxes}.local_sandbox_id`, deviations);
  if (id === null || !isArray(item["servers"])) return nothing;
  const losses = { count: 0 };
  const benchmark = readName(item["benchmark"], `${sandboxes}.benchmark`, deviations, losses);
  const found = new Map<string, ListedServer>();
  for (const each of item["servers"]) {
    const server = readServer(each, deviations, losses);
    if (!server) {
      losses.count++;
      continue;
    }
    const duplicate = found.get(server.id);
    if (duplicate) deviations.note(`${servers}.id`, "duplicate");
    found.set(server.id, duplicate ? worseServer(duplicate, server) : server);
  }
  const itself = { id, status: readStatus(item), benchmark };
  return { sandbox: { ...itself, servers: [...found.values()] }, unkept: losses.count };
}

function readServer(item: JsonValue, deviations: Deviations, losses: Losses): ListedServer | null {
  if (!isObject(item)) return null;
  const id = readId(item["id"], `${servers}.id`, deviations);
  if (id === null) return null;
  return {
    id,
    name: readName(item["server_name"], `${servers}.server_name`, deviations, losses),
    status: readStatus(item),
    benchmark: readName(item["benchmark"], `${servers}.benchmark`, deviations, losses),
    tags: readTags(item["tags"], deviations, losses),
  };
}

function readId(
  value: JsonValue | undefined,
  field: string,
  deviations: Deviations,
): string | null {
  if (typeof value !== "string" || value === "" || value.length > 512) return null;
  if (!value.includes("\u0000") && value.isWellFormed()) return value;
  deviations.note(field, "invalid_character");
  return null;
}

interface Losses {
  count: number;
}

function readName(
  value: JsonValue | undefined,
  field: string,
  deviations: Deviations,
  losses: Losses,
): string | null {
  if (typeof value !== "string") return null;
  if (value.length <= 256 && !value.includes("\u0000")) return value.toWellFormed();
  // That it is too long is noted by the comparison.
  if (value.length <= 256) deviations.note(field, "invalid_character");
  losses.count++;
  return null;
}

function readTags(
  value: JsonValue | undefined,
  deviations: Deviations,
  losses: Losses,
): readonly string[] {
  const tags: string[] = [];
  const items = isArray(value) ? value : [];
  for (const item of items) {
    const problem = problemOfTag(item, tags.length);
    if (problem === null && typeof item === "string") tags.push(item.toWellFormed());
    else if (problem === "too_many") deviations.note(`${servers}.tags`, problem);
    // Other problems of a tag are noted by the comparison.
    else if (problem === "invalid_character") deviations.note(`${servers}.tags[]`, problem);
    if (problem !== null && problem !== "too_many") losses.count++;
  }
  const surplus = items.filter((item) => typeof item === "string" && isTag(item)).length > 64;
  if (surplus) losses.count++;
  return tags;
}

function isTag(text: string): boolean {
  return text.length <= 256 && !text.includes("\u0000");
}

function problemOfTag(item: JsonValue, taken: number) {
  if (typeof item !== "string") return null;
  if (item.length > 256) return "too_long";
  if (item.includes("\u0000")) return "invalid_character";
  return taken < 64 ? null : "too_many";
}

function readStatus({ status }: JsonObject): Status {
  return status === "idle" || status === "occupied" || status === "error" ? status : "unknown";
}

function join(one: ListedSandbox, other: ListedSandbox, deviations: Deviations): ListedSandbox {
  const found = new Map(one.servers.map((server) => [server.id, server]));
  let duplicates = 0;
  for (const server of other.servers) {
    const duplicate = found.get(server.id);
    if (duplicate) duplicates++;
    found.set(server.id, duplicate ? worseServer(duplicate, server) : server);
  }
  deviations.note(`${sandboxes}.local_sandbox_id`, "duplicate");
  if (duplicates > 0) deviations.note(`${servers}.id`, "duplicate", undefined, duplicates);
  const itself = rank([one.status, [one.benchmark]], [other.status, [other.benchmark]]);
  const { status, benchmark } = itself < 0 ? other : one;
  return { id: one.id, status, benchmark, servers: [...found.values()] };
}

function worseServer(one: ListedServer, other: ListedServer): ListedServer {
  const textsOf = ({ name, benchmark, tags }: ListedServer) => [name, benchmark, ...tags];
  return rank([one.status, textsOf(one)], [other.status, textsOf(other)]) < 0 ? other : one;
}

type Ranked = readonly [status: Status, texts: readonly (string | null)[]];

/** Negative where the second one is worse; between equal statuses, where its texts sort later. */
function rank([statusA, a]: Ranked, [statusB, b]: Ranked): number {
  const order: readonly Status[] = ["unknown", "idle", "occupied", "error"];
  if (statusA !== statusB) return order.indexOf(statusA) - order.indexOf(statusB);
  // A text that is not there comes before any other.
  const keyOf = (text: string | null | undefined): string =>
    typeof text === "string" ? `1${text}` : "0";
  for (let at = 0; at < Math.max(a.length, b.length); at++) {
    const [textA, textB] = [keyOf(a[at]), keyOf(b[at])];
    if (textA !== textB) return textA < textB ? -1 : 1;
  }
  return 0;
}
