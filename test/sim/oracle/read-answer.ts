import { brotliDecompressSync, gunzipSync, inflateSync } from "node:zlib";
import { statuses, type SentAnswer, type ServiceRequest, type Status } from "../history.ts";
import type { Stated, StatedServer } from "./evidence.ts";

/** A longer id cannot be kept. */
const longestId = 512;

/** Reads the answer to a poll by the interface of the service alone. Null: the poll failed. */
export function readListing(answer: SentAnswer): { complete: boolean; stated: Stated } | null {
  const root = answer.status === 200 ? readJson(answer) : null;
  if (!isObject(root) || !Array.isArray(root["local_sandboxes"])) return null;
  const stated = {
    servers: new Map<string, StatedServer>(),
    boxes: new Map<string, Status | null>(),
  };
  const { servers: statedServers, boxes } = stated;
  let complete = true;
  for (const item of root["local_sandboxes"]) {
    const box = isObject(item) ? idOf(item["local_sandbox_id"]) : null;
    const servers: unknown = isObject(item) ? item["servers"] : null;
    if (box === null || !Array.isArray(servers)) {
      complete = false;
      continue;
    }
    boxes.set(box, worse(boxes.get(box) ?? null, statusIn(item)));
    for (const server of servers) {
      const id = isObject(server) ? idOf(server["id"]) : null;
      if (!isObject(server) || id === null) {
        complete = false;
        continue;
      }
      const { server_name: name } = server;
      const status = worse(statedServers.get(`${box} ${id}`)?.status ?? null, statusIn(server));
      statedServers.set(`${box} ${id}`, { status, name: typeof name === "string" ? name : "" });
    }
  }
  return { complete: complete && root["total_count"] === boxes.size, stated };
}

/** Null: it states none. */
function statusIn({ status = null }: Readonly<Record<string, unknown>>): Status | null {
  return status === null ? null : (statuses.find((each) => each === status) ?? "unknown");
}

const fromWorst = ["error", "occupied", "idle", "unknown"] as const;

/** Of what is listed twice, the worse is believed. */
function worse(one: Status | null, other: Status | null): Status | null {
  return fromWorst.find((each) => each === one || each === other) ?? null;
}

/** Null: it is not JSON. */
export function readJson({ headers, body }: SentAnswer): unknown {
  try {
    const decoded = decoders[headers["content-encoding"] ?? "identity"]?.(body);
    return JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(decoded));
  } catch {
    return null;
  }
}

const decoders: Readonly<Record<string, (body: Uint8Array) => Uint8Array>> = {
  gzip: gunzipSync,
  br: brotliDecompressSync,
  deflate: inflateSync,
  identity: (body) => body,
};

function idOf(value: unknown): string | null {
  if (typeof value !== "string" || value === "" || value.length > longestId) return null;
  return value.includes("\0") ? null : value;
}

export function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Whether the key was refused. */
export function isRefusal({ answer, exchange }: ServiceRequest): boolean {
  return exchange.end?.how === "whole" && (answer?.status === 401 || answer?.status === 403);
}

/** How many refusals in a row there are after a request. One that was not answered changes nothing. */
export function refusalsAfter(request: ServiceRequest, before: number): number {
  if (isRefusal(request)) return before + 1;
  return request.exchange.end?.how === "whole" ? 0 : before;
}

export function retryAfterMs({ answer }: ServiceRequest): number {
  return Number(answer?.headers["retry-after"] ?? 0) * 1_000;
}
