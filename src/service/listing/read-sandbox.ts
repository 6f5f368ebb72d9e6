import type { ListedSandbox, ListedServer, Status } from "../../core/model.ts";
import { worseServer } from "../../core/worse-of.ts";
import type { Deviations } from "../deviations.ts";
import { isArray, isObject, type JsonObject, type JsonValue } from "../json.ts";
import { noteItem, readText } from "../read-value.ts";
import { resource } from "../resource.ts";
import { maxIdLength, maxNameLength, sandboxSchema, serverSchema } from "../schema.ts";

export const sandboxesField = "local_sandboxes[]";
export const serversField = "local_sandboxes[].servers[]";
export const tagsField = "local_sandboxes[].servers[].tags";
const tagField = "local_sandboxes[].servers[].tags[]";
const maxTags = 64;

export const promisedSandbox = resource(sandboxSchema, `${sandboxesField}.`);
export const promisedServer = resource(serverSchema, `${serversField}.`);

export interface ReadSandbox {
  readonly sandbox: ListedSandbox;
  /** False when a server had to be left out. */
  readonly complete: boolean;
}

/**
 * Takes of an item of a listing what can be used. Addresses, metadata, authentication data and times
 * are left behind here: they may hold secrets, and nothing needs them. Servers listed twice are
 * joined, the worse one being believed.
 *
 * @returns null for an item without a usable identity or without a list of servers
 */
export function readSandbox(item: JsonObject, deviations: Deviations): ReadSandbox | null {
  promisedSandbox.compare(item, deviations);
  const sandboxId = readId(item["local_sandbox_id"]);
  const items = item["servers"];
  if (sandboxId === null || !isArray(items)) return null;
  const { servers, complete } = readServers(items, deviations);
  const status = readStatus(item["status"]);
  const benchmark = readText(item["benchmark"], maxNameLength);
  return { sandbox: { sandboxId, status, benchmark, servers }, complete };
}

function readServers(items: readonly JsonValue[], deviations: Deviations) {
  const servers = new Map<string, ListedServer>();
  let complete = true;
  for (const item of items) {
    const server = readServer(item, deviations);
    if (!server) {
      complete = false;
      continue;
    }
    const twin = servers.get(server.serverId);
    if (twin) deviations.note(`${serversField}.id`, "duplicate");
    servers.set(server.serverId, twin ? worseServer(twin, server) : server);
  }
  return { servers: [...servers.values()], complete };
}

function readServer(item: JsonValue, deviations: Deviations): ListedServer | null {
  if (!isObject(item)) {
    noteItem(item, serversField, deviations);
    return null;
  }
  promisedServer.compare(item, deviations);
  const serverId = readId(item["id"]);
  if (serverId === null) return null;
  return {
    serverId,
    serverName: readText(item["server_name"], maxNameLength),
    status: readStatus(item["status"]),
    benchmark: readText(item["benchmark"], maxNameLength),
    tags: readTags(item, deviations),
  };
}

const noTags: readonly string[] = [];

function readTags(server: JsonObject, deviations: Deviations): readonly string[] {
  const items = server["tags"];
  if (!isArray(items) || items.length === 0) return noTags;
  const tags: string[] = [];
  for (const item of items) {
    const tag = readText(item, maxNameLength);
    if (tag !== null && tags.length < maxTags) tags.push(tag);
    else if (tag !== null) deviations.note(tagsField, "too_many");
    else if (typeof item === "string") deviations.note(tagField, "too_long", item);
    else noteItem(item, tagField, deviations);
  }
  return tags;
}

function readId(value: JsonValue | undefined): string | null {
  return value === "" ? null : readText(value, maxIdLength);
}

function readStatus(value: JsonValue | undefined): Status {
  return value === "idle" || value === "occupied" || value === "error" ? value : "unknown";
}
