import { isArray, isObject } from "./json.ts";
import type { JsonObject, JsonValue } from "./json-value.ts";

/**
 * Responses as typed objects, with everything that the interface promises, which may be secret. What is missing or odd
 * is null; how a response deviates is for the walker to find. Times are text as the service wrote it.
 */

type Value = JsonValue | undefined;
type Read<T> = NonNullable<T>;

/** Text as it came, except for lone surrogates: no database, file or HTTP body can carry those. */
function text(value: Value): string | null {
  return typeof value === "string" ? value.toWellFormed() : null;
}

function object(value: Value): JsonObject | null {
  return isObject(value) ? value : null;
}

/** Null for what is no list. Items that `read` refuses are not in it. */
function listOf<T>(value: Value, read: (item: JsonValue) => T | null): readonly Read<T>[] | null {
  return isArray(value) ? value.map(read).filter((item): item is Read<T> => item !== null) : null;
}

export type User = Read<ReturnType<typeof readUser>>;
export function readUser(body: JsonValue) {
  if (!isObject(body)) return null;
  return {
    userId: text(body["userId"]),
    createdAt: text(body["createdAt"]),
    lastUsedAt: text(body["lastUsedAt"]),
  } as const;
}

export type Universe = Read<ReturnType<typeof readUniverse>>;
function readUniverse(item: JsonValue) {
  if (!isObject(item)) return null;
  return {
    universeId: text(item["universe_id"]),
    name: text(item["name"]),
    description: text(item["description"]),
    domain: text(item["domain"]),
    personas: listOf(item["personas"], object),
    taskNums: listOf(item["task_nums"], text),
    createdAt: text(item["created_at"]),
  } as const;
}

export function readUniverses(body: JsonValue): readonly Universe[] | null {
  return isObject(body) ? listOf(body["universes"], readUniverse) : null;
}

export type WhiteLabel = Read<ReturnType<typeof readWhiteLabel>>;
export function readWhiteLabel(body: JsonValue) {
  if (!isObject(body)) return null;
  const { success } = body;
  return {
    /** Whether the operation succeeded. */
    success: typeof success === "boolean" ? success : null,
    data: object(body["data"]),
    /** Why it did not. */
    message: text(body["message"]),
  } as const;
}

export type WholeListing = Read<ReturnType<typeof readListing>>;
export function readListing(body: JsonValue) {
  if (!isObject(body)) return null;
  const count = body["total_count"];
  const sandboxes = listOf(body["local_sandboxes"], readSandbox);
  return (
    sandboxes &&
    ({
      sandboxes,
      /** How many there are, as the service counts them; null where it states no whole number. */
      totalCount: typeof count === "number" && Number.isInteger(count) ? count : null,
    } as const)
  );
}

export type Sandbox = Read<ReturnType<typeof readSandbox>>;
function readSandbox(item: JsonValue) {
  if (!isObject(item)) return null;
  return {
    localSandboxId: text(item["local_sandbox_id"]),
    createdAt: text(item["created_at"]),
    /** `idle`, `occupied`, `error`, or a word that the service invented since. */
    status: text(item["status"]),
    benchmark: text(item["benchmark"]),
    servers: listOf(item["servers"], readServer),
  } as const;
}

export type SandboxServer = Read<ReturnType<typeof readServer>>;
function readServer(item: JsonValue) {
  if (!isObject(item)) return null;
  return {
    id: text(item["id"]),
    serverName: text(item["server_name"]),
    /** Its query may be secret. */
    mcpServerUrl: text(item["mcp_server_url"]),
    /** As that of a sandbox. */
    status: text(item["status"]),
    benchmark: text(item["benchmark"]),
    updatedAt: text(item["updated_at"]),
    /** May be secret. */
    metadata: object(item["metadata"]),
    /** Credentials of third parties. */
    authData: object(item["auth_data"]),
    tags: listOf(item["tags"], text),
  } as const;
}
