import type { Operation } from "../fleet/model.ts";
import { isArray, isObject, type JsonObject, type JsonValue } from "./json.ts";

/**
 * Responses as typed objects, with all that is promised of them, which may be secret. What is missing or odd is
 * null; how a response deviates is the walker's matter.
 */

/** Undefined: the body is of another overall shape. */
export type Parse<T> = (body: JsonValue) => T | undefined;

/** Times are text as the service wrote it. */
export interface User {
  readonly userId: string | null;
  readonly createdAt: string | null;
  readonly lastUsedAt: string | null;
}

export interface Universe {
  readonly universeId: string | null;
  readonly name: string | null;
  readonly description: string | null;
  readonly domain: string | null;
  readonly personas: readonly JsonObject[] | null;
  readonly taskNums: readonly string[] | null;
  readonly createdAt: string | null;
}

export interface WhiteLabel {
  /** Whether the operation succeeded. */
  readonly success: boolean | null;
  readonly data: JsonObject | null;
  /** Why it did not. */
  readonly message: string | null;
}

export interface WholeListing {
  readonly sandboxes: readonly Sandbox[];
  /** How many there are, as the service counts them; null where it states no whole number. */
  readonly totalCount: number | null;
}

export interface Sandbox {
  readonly localSandboxId: string | null;
  /** Text as the service wrote it. */
  readonly createdAt: string | null;
  /** `idle`, `occupied`, `error`, or what the service made up since. */
  readonly status: string | null;
  readonly benchmark: string | null;
  readonly servers: readonly SandboxServer[] | null;
}

export interface SandboxServer {
  readonly id: string | null;
  readonly serverName: string | null;
  /** Its query may be secret. */
  readonly mcpServerUrl: string | null;
  /** As that of a sandbox. */
  readonly status: string | null;
  readonly benchmark: string | null;
  /** Text as the service wrote it. */
  readonly updatedAt: string | null;
  /** May be secret. */
  readonly metadata: JsonObject | null;
  /** Credentials of third parties. */
  readonly authData: JsonObject | null;
  readonly tags: readonly string[] | null;
}

export const parseUser: Parse<User> = (body) =>
  isObject(body)
    ? {
        userId: readText(body["userId"]),
        createdAt: readText(body["createdAt"]),
        lastUsedAt: readText(body["lastUsedAt"]),
      }
    : undefined;

export const parseUniverses: Parse<readonly Universe[]> = (body) =>
  (isObject(body) && readList(body["universes"], readUniverse)) || undefined;

function readUniverse(item: JsonValue): Universe | null {
  if (!isObject(item)) return null;
  return {
    universeId: readText(item["universe_id"]),
    name: readText(item["name"]),
    description: readText(item["description"]),
    domain: readText(item["domain"]),
    personas: readList(item["personas"], readObject),
    taskNums: readList(item["task_nums"], readText),
    createdAt: readText(item["created_at"]),
  };
}

export const parseWhiteLabel: Parse<WhiteLabel> = (body) => {
  if (!isObject(body)) return undefined;
  const success = body["success"];
  return {
    success: typeof success === "boolean" ? success : null,
    data: readObject(body["data"]),
    message: readText(body["message"]),
  };
};

export const parseWholeListing: Parse<WholeListing> = (body) => {
  if (!isObject(body)) return undefined;
  const sandboxes = readList(body["local_sandboxes"], readWholeSandbox);
  const count = body["total_count"];
  const totalCount = typeof count === "number" && Number.isInteger(count) ? count : null;
  return sandboxes ? { sandboxes, totalCount } : undefined;
};

function readWholeSandbox(item: JsonValue): Sandbox | null {
  if (!isObject(item)) return null;
  return {
    localSandboxId: readText(item["local_sandbox_id"]),
    createdAt: readText(item["created_at"]),
    status: readText(item["status"]),
    benchmark: readText(item["benchmark"]),
    servers: readList(item["servers"], readWholeServer),
  };
}

function readWholeServer(item: JsonValue): SandboxServer | null {
  if (!isObject(item)) return null;
  return {
    id: readText(item["id"]),
    serverName: readText(item["server_name"]),
    mcpServerUrl: readText(item["mcp_server_url"]),
    status: readText(item["status"]),
    benchmark: readText(item["benchmark"]),
    updatedAt: readText(item["updated_at"]),
    metadata: readObject(item["metadata"]),
    authData: readObject(item["auth_data"]),
    tags: readList(item["tags"], readText),
  };
}

const parsers = {
  list_sandboxes: parseWholeListing,
  list_universes: parseUniverses,
  get_user: parseUser,
  get_universe_data: (body) => body,
  get_white_label: parseWhiteLabel,
} as const satisfies Readonly<Record<Operation, Parse<unknown>>>;

/** Gives a body of the operation's overall shape as it is. */
export function parseAsIs(operation: Operation): Parse<JsonValue> {
  return (body) => (parsers[operation](body) === undefined ? undefined : body);
}

/** Text as it came, save for lone surrogates: no database, file or HTTP body can carry those. */
function readText(value: JsonValue | undefined): string | null {
  return typeof value === "string" ? value.toWellFormed() : null;
}

/** Null for what is no list. What `read` refuses is not in it. */
function readList<T>(
  value: JsonValue | undefined,
  read: (item: JsonValue) => T | null,
): readonly T[] | null {
  return isArray(value) ? value.map(read).filter((item): item is T & {} => item !== null) : null;
}

function readObject(value: JsonValue | undefined): JsonObject | null {
  return isObject(value) ? value : null;
}
