import type { Deviations } from "./deviations.ts";
import { isArray, isObject, type JsonObject, type JsonValue } from "./json.ts";
import { promisedSandbox, promisedServer, sandboxesField, tagsField } from "./listed-sandbox.ts";
import { promisedListing } from "./listing-reader.ts";
import { readList, readObject, readText } from "./read-value.ts";

/** A listing with all that is promised of it, which may be secret; what is missing or odd is null. */
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

/** @returns undefined for a body that is no listing */
export function parseWholeListing(
  body: JsonValue,
  deviations: Deviations,
): WholeListing | undefined {
  if (!isObject(body)) return undefined;
  promisedListing.compare(body, deviations);
  if (!isArray(body["local_sandboxes"])) return undefined;
  const sandboxes = readList(body["local_sandboxes"], "local_sandboxes", deviations, (item) =>
    isObject(item) ? readWholeSandbox(item, deviations) : null,
  );
  return { sandboxes: sandboxes ?? [], totalCount: readCount(body["total_count"]) };
}

function readCount(value: JsonValue | undefined): number | null {
  return typeof value === "number" && Number.isInteger(value) ? value : null;
}

function readWholeSandbox(item: JsonObject, deviations: Deviations): Sandbox {
  promisedSandbox.compare(item, deviations);
  return {
    localSandboxId: readText(item["local_sandbox_id"]),
    createdAt: readText(item["created_at"]),
    status: readText(item["status"]),
    benchmark: readText(item["benchmark"]),
    servers: readList(item["servers"], `${sandboxesField}.servers`, deviations, (server) =>
      isObject(server) ? readWholeServer(server, deviations) : null,
    ),
  };
}

function readWholeServer(item: JsonObject, deviations: Deviations): SandboxServer {
  promisedServer.compare(item, deviations);
  return {
    id: readText(item["id"]),
    serverName: readText(item["server_name"]),
    mcpServerUrl: readText(item["mcp_server_url"]),
    status: readText(item["status"]),
    benchmark: readText(item["benchmark"]),
    updatedAt: readText(item["updated_at"]),
    metadata: readObject(item["metadata"]),
    authData: readObject(item["auth_data"]),
    tags: readList(item["tags"], tagsField, deviations, (tag) => readText(tag)),
  };
}
