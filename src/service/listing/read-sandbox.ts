import type { ListedSandbox, ListedServer, Status } from "../../core/model.ts";
import { worseServer } from "../../core/worse-of.ts";
import type { Deviations } from "../deviations.ts";
import { isArray, isObject, type JsonObject, type JsonValue } from "../json.ts";
import type { DeviationProblem } from "../../core/deviation.ts";
import { noteItem } from "../read-value.ts";
import { resource } from "../resource.ts";
import { sandboxSchema, serverSchema } from "../schema.ts";
import { foundShape, problemOfIdValue, problemOfText } from "../unkept.ts";
import type { Unkept } from "../unkept.ts";

export const sandboxesField = "local_sandboxes[]";
export const serversField = "local_sandboxes[].servers[]";
export const tagsField = "local_sandboxes[].servers[].tags";
const tagField = "local_sandboxes[].servers[].tags[]";
const maxTags = 64;

export const promisedSandbox = resource(sandboxSchema, `${sandboxesField}.`);
export const promisedServer = resource(serverSchema, `${serversField}.`);

export interface ReadSandbox {
  readonly sandbox: ListedSandbox;
  /** Whether all of it could be kept. */
  readonly complete: boolean;
}

/** Told of each item and each text that cannot be kept. */
export type OnUnkept = (unkept: Unkept) => void;

/**
 * Takes of an item of a listing what can be used. Addresses, metadata, authentication data and times
 * are left behind here: they may hold secrets, and nothing needs them. Servers listed twice are
 * joined, the worse one being believed. A text that cannot be kept is null, or missing from its list.
 *
 * @param place of the item in the listing
 * @returns null for an item without a usable identity or without a list of servers
 */
export function readSandbox(
  item: JsonValue,
  place: string,
  deviations: Deviations,
  onUnkept: OnUnkept,
): ReadSandbox | null {
  const leaveOut = (
    part: string,
    problem: DeviationProblem,
    value: JsonValue | undefined,
  ): null => {
    const ids = { sandboxId: null, serverId: null };
    const found = foundShape(value);
    onUnkept({ place: place + part, problem, found, lost: "sandbox", ...ids });
    return null;
  };
  if (!isObject(item)) {
    noteItem(item, sandboxesField, deviations);
    return leaveOut("", item === null ? "null" : "wrong_type", item);
  }
  promisedSandbox.compare(item, deviations);
  const sandboxId = item["local_sandbox_id"];
  const problem = problemOfIdValue(sandboxId);
  noteCharacter(problem, `${sandboxesField}.local_sandbox_id`, sandboxId, deviations);
  if (problem !== null || typeof sandboxId !== "string") {
    return leaveOut(".local_sandbox_id", problem ?? "wrong_type", sandboxId);
  }
  const items = item["servers"];
  if (!isArray(items)) {
    const why = items === undefined ? "missing" : items === null ? "null" : "wrong_type";
    return leaveOut(".servers", why, items);
  }
  let complete = true;
  const reading: Reading = {
    deviations,
    sandboxId,
    onUnkept(unkept) {
      complete = false;
      onUnkept(unkept);
    },
  };
  const status = readStatus(item["status"]);
  const at = { place, field: sandboxesField, serverId: null };
  const benchmark = readName(item, "benchmark", at, reading);
  const servers = readServers(items, place, reading);
  return { sandbox: { sandboxId, status, benchmark, servers }, complete };
}

interface Reading {
  readonly deviations: Deviations;
  readonly sandboxId: string;
  readonly onUnkept: OnUnkept;
}

/** Which item a text is of. */
interface Of {
  readonly place: string;
  /** Its name in deviations. */
  readonly field: string;
  /** Null: it is the sandbox's own. */
  readonly serverId: string | null;
}

function readServers(
  items: readonly JsonValue[],
  sandboxPlace: string,
  reading: Reading,
): readonly ListedServer[] {
  const servers = new Map<string, ListedServer>();
  for (const [index, item] of items.entries()) {
    const server = readServer(item, sandboxPlace, index, reading);
    if (!server) continue;
    const twin = servers.get(server.serverId);
    if (twin) reading.deviations.note(`${serversField}.id`, "duplicate");
    servers.set(server.serverId, twin ? worseServer(twin, server) : server);
  }
  return [...servers.values()];
}

function readServer(
  item: JsonValue,
  sandboxPlace: string,
  index: number,
  reading: Reading,
): ListedServer | null {
  const { deviations, sandboxId, onUnkept } = reading;
  const leaveOut = (
    part: string,
    problem: DeviationProblem,
    value: JsonValue | undefined,
  ): null => {
    const place = `${sandboxPlace}.servers[${index}]${part}`;
    const found = foundShape(value);
    onUnkept({ place, problem, found, lost: "server", sandboxId, serverId: null });
    return null;
  };
  if (!isObject(item)) {
    noteItem(item, serversField, deviations);
    return leaveOut("", item === null ? "null" : "wrong_type", item);
  }
  promisedServer.compare(item, deviations);
  const serverId = item["id"];
  const problem = problemOfIdValue(serverId);
  noteCharacter(problem, `${serversField}.id`, serverId, deviations);
  if (problem !== null || typeof serverId !== "string") {
    return leaveOut(".id", problem ?? "wrong_type", serverId);
  }
  const of: Of = {
    field: serversField,
    serverId,
    // Made only where it is needed: nearly no server has anything that cannot be kept.
    get place() {
      return `${sandboxPlace}.servers[${index}]`;
    },
  };
  return {
    serverId,
    serverName: readName(item, "server_name", of, reading),
    status: readStatus(item["status"]),
    benchmark: readName(item, "benchmark", of, reading),
    tags: readTags(item, of, reading),
  };
}

/** Null, too, where the text cannot be kept. */
function readName(item: JsonObject, name: string, of: Of, reading: Reading): string | null {
  const value = item[name];
  if (typeof value !== "string") return null;
  const problem = problemOfText(value);
  if (problem === null) return value.toWellFormed();
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

const noTags: readonly string[] = [];

function readTags(server: JsonObject, of: Of, reading: Reading): readonly string[] {
  const { deviations } = reading;
  const items = server["tags"];
  if (!isArray(items) || items.length === 0) return noTags;
  const tags: string[] = [];
  let hasSurplus = false;
  for (const [index, item] of items.entries()) {
    if (typeof item !== "string") {
      noteItem(item, tagField, deviations);
      continue;
    }
    const problem = problemOfText(item);
    if (problem !== null) {
      deviations.note(tagField, problem, item);
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

/** Whatever else is wrong with it is noted where the item is compared with the interface. */
function noteCharacter(
  problem: DeviationProblem | null,
  field: string,
  value: JsonValue | undefined,
  deviations: Deviations,
): void {
  if (problem === "invalid_character") deviations.note(field, problem, value);
}

function readStatus(value: JsonValue | undefined): Status {
  return value === "idle" || value === "occupied" || value === "error" ? value : "unknown";
}
