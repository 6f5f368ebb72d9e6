import type { ListedSandbox, ListedServer, Status } from "../../../src/core/model.ts";
import type { Deviations } from "../../../src/service/deviations.ts";
import { isArray, isObject, type JsonObject, type JsonValue } from "../../../src/service/json.ts";
import { noteItem, readText } from "../../../src/service/read-value.ts";
import { resource } from "../../../src/service/resource.ts";
import {
  listingSchema,
  maxIdLength,
  maxNameLength,
  sandboxSchema,
  serverSchema,
} from "../../../src/service/schema.ts";
import { worseOf } from "../../../src/core/worse-of.ts";
import type { Listing } from "../../support/listing.ts";

const sandboxesField = "local_sandboxes[]";
const serversField = "local_sandboxes[].servers[]";
const tagsField = "local_sandboxes[].servers[].tags";
const tagField = "local_sandboxes[].servers[].tags[]";
const maxTags = 64;

const promisedListing = resource(listingSchema, "");
const promisedSandbox = resource(sandboxSchema, `${sandboxesField}.`);
const promisedServer = resource(serverSchema, `${serversField}.`);

interface SandboxDraft {
  readonly itself: Omit<ListedSandbox, "servers">;
  readonly servers: Map<string, ListedServer>;
}

/**
 * Takes of a listing what can be used. Addresses, metadata, authentication data and times are left
 * behind here: they may hold secrets, and nothing needs them. An item without a usable identity is
 * left out and makes the listing incomplete, as does a `total_count` that is no whole number or
 * another one than that of the sandboxes. Items listed twice are joined, the worse one being believed.
 *
 * @returns undefined for what is no listing at all
 */
export function parseListing(body: JsonValue, deviations: Deviations): Listing | undefined {
  if (!isObject(body)) return undefined;
  const { local_sandboxes: items, total_count: totalCount } = body;
  if (!isArray(items)) return undefined;
  promisedListing.compare(body, deviations);

  const drafts = new Map<string, SandboxDraft>();
  let complete = true;
  let leftOut = 0;
  for (const item of items) {
    const draft = readSandbox(item, drafts, deviations);
    if (!draft) {
      leftOut++;
      continue;
    }
    drafts.set(draft.itself.sandboxId, draft);
    complete = readServers(item, draft.servers, deviations) && keepsTexts(item) && complete;
  }
  if (totalCount !== drafts.size + leftOut) {
    if (Number.isInteger(totalCount)) deviations.note("total_count", "mismatch");
    complete = false;
  }
  return {
    sandboxes: Array.from(drafts.values(), ({ itself, servers }) => ({
      ...itself,
      servers: [...servers.values()],
    })),
    complete: complete && leftOut === 0,
  };
}

function readSandbox(
  item: JsonValue,
  earlier: ReadonlyMap<string, SandboxDraft>,
  deviations: Deviations,
): SandboxDraft | null {
  if (!isObject(item)) {
    noteItem(item, sandboxesField, deviations);
    return null;
  }
  promisedSandbox.compare(item, deviations);
  const sandboxId = readId(
    item["local_sandbox_id"],
    `${sandboxesField}.local_sandbox_id`,
    deviations,
  );
  if (sandboxId === null || !isArray(item["servers"])) return null;
  const status = readStatus(item["status"]);
  const itself = {
    sandboxId,
    status,
    benchmark: readName(item, "benchmark", sandboxesField, deviations),
  };
  const twin = earlier.get(sandboxId);
  if (!twin) return { itself, servers: new Map<string, ListedServer>() };
  deviations.note(`${sandboxesField}.local_sandbox_id`, "duplicate");
  const believed = worseOf(twin.itself, itself, ({ benchmark }) => [benchmark]);
  return { itself: believed, servers: twin.servers };
}

/** Adds the servers of a sandbox to those known of it; false when one had to be left out. */
function readServers(
  sandbox: JsonValue,
  servers: Map<string, ListedServer>,
  deviations: Deviations,
): boolean {
  const items = isObject(sandbox) ? sandbox["servers"] : undefined;
  if (!isArray(items)) return false;
  let complete = true;
  for (const item of items) {
    const server = readServer(item, deviations);
    if (!server) {
      complete = false;
      continue;
    }
    const twin = servers.get(server.serverId);
    if (twin) deviations.note(`${serversField}.id`, "duplicate");
    servers.set(server.serverId, twin ? worseOf(twin, server, textsOf) : server);
  }
  return complete;
}

function textsOf({ serverName, benchmark, tags }: ListedServer): readonly (string | null)[] {
  return [serverName, benchmark, ...tags];
}

function readServer(item: JsonValue, deviations: Deviations): ListedServer | null {
  if (!isObject(item)) {
    noteItem(item, serversField, deviations);
    return null;
  }
  promisedServer.compare(item, deviations);
  const serverId = readId(item["id"], `${serversField}.id`, deviations);
  if (serverId === null) return null;
  return {
    serverId,
    serverName: readName(item, "server_name", serversField, deviations),
    status: readStatus(item["status"]),
    benchmark: readName(item, "benchmark", serversField, deviations),
    tags: readTags(item, deviations),
  };
}

const noTags: readonly string[] = [];

function readTags(server: JsonObject, deviations: Deviations): readonly string[] {
  const items = server["tags"];
  if (!isArray(items) || items.length === 0) return noTags;
  const tags: string[] = [];
  for (const item of items) {
    const problem = typeof item === "string" ? textProblem(item) : null;
    if (typeof item !== "string") noteItem(item, tagField, deviations);
    else if (problem !== null) deviations.note(tagField, problem);
    else if (tags.length < maxTags) tags.push(item.toWellFormed());
    else deviations.note(tagsField, "too_many");
  }
  return tags;
}

function readId(
  value: JsonValue | undefined,
  field: string,
  deviations: Deviations,
): string | null {
  if (typeof value !== "string" || value === "" || value.length > maxIdLength) return null;
  if (!value.includes("\0") && value.isWellFormed()) return value;
  deviations.note(field, "invalid_character");
  return null;
}

function readName(
  item: JsonObject,
  name: string,
  field: string,
  deviations: Deviations,
): string | null {
  const value = item[name];
  const problem = typeof value === "string" ? textProblem(value) : null;
  if (problem === "invalid_character") deviations.note(`${field}.${name}`, problem);
  return problem === null ? readText(value) : null;
}

function textProblem(text: string): "too_long" | "invalid_character" | null {
  if (text.length > maxNameLength) return "too_long";
  return text.includes("\0") ? "invalid_character" : null;
}

/** Whether no text of an item, or of its servers that are kept, had to be dropped. */
function keepsTexts(item: JsonValue): boolean {
  if (!isObject(item)) return true;
  const tags = item["tags"];
  const texts = [item["server_name"], item["benchmark"], ...(isArray(tags) ? tags : [])];
  const kept = texts.filter((text) => typeof text === "string");
  const servers = item["servers"];
  return (
    kept.every((text) => textProblem(text) === null) &&
    (!isArray(tags) || tags.filter((tag) => typeof tag === "string").length <= maxTags) &&
    (!isArray(servers) || servers.every(keepsTexts))
  );
}

function readStatus(value: JsonValue | undefined): Status {
  return value === "idle" || value === "occupied" || value === "error" ? value : "unknown";
}
