import { brotliDecompressSync, gunzipSync, inflateSync } from "node:zlib";
import { statuses } from "../history.ts";
import type { SentAnswer, ServiceRequest, ShownServer, Status } from "../history.ts";

/** What a poll makes of the answer that came whole. */
export type ReadAnswer =
  | { readonly kind: "failed" }
  | {
      readonly kind: "listed";
      /** Whether nothing is missing from it; else it proves nothing about what it lacks. */
      readonly complete: boolean;
      /** By sandbox and server id. */
      readonly shown: ReadonlyMap<string, ShownServer>;
    };

const failed: ReadAnswer = { kind: "failed" };

/** The longest id that is kept; a longer one cannot be watched. */
const longestId = 512;

/** Reads what was sent to a poll by the interface of the service alone. */
export function readAnswer(answer: SentAnswer): ReadAnswer {
  if (answer.status !== 200) return failed;
  const root = readJson(answer);
  if (!isObject(root)) return failed;
  const items = root["local_sandboxes"];
  if (!Array.isArray(items)) return failed;
  const shown = new Map<string, ShownServer>();
  const boxes = new Set<string>();
  let complete = true;
  for (const item of items) {
    const box = isObject(item) ? idOf(item["local_sandbox_id"]) : null;
    const servers: unknown = isObject(item) ? item["servers"] : null;
    if (box === null || !Array.isArray(servers)) {
      complete = false;
      continue;
    }
    boxes.add(box);
    for (const server of servers) {
      const id = isObject(server) ? idOf(server["id"]) : null;
      if (!isObject(server) || id === null) complete = false;
      else shown.set(`${box} ${id}`, readServer(server));
    }
  }
  const total = root["total_count"];
  return { kind: "listed", complete: complete && total === boxes.size, shown };
}

/** Null: it is no JSON, or it is null. */
export function readJson({ headers, body }: SentAnswer): unknown {
  return parse(decode(body, headers["content-encoding"]));
}

/** Whether the key was refused: then fewer polls than usual send a request. */
export function isRefusal({ answer, exchange }: ServiceRequest): boolean {
  return exchange.end?.how === "whole" && (answer?.status === 401 || answer?.status === 403);
}

function readServer(server: Readonly<Record<string, unknown>>): ShownServer {
  const name = server["server_name"];
  return { status: statusOf(server["status"]), name: typeof name === "string" ? name : "" };
}

/** What is not one of the three that the interface has is not stated. */
export function statusOf(value: unknown): Status {
  return statuses.find((each) => each === value) ?? "unknown";
}

function idOf(value: unknown): string | null {
  if (typeof value !== "string" || value === "" || value.length > longestId) return null;
  return value.includes("\0") ? null : value;
}

function decode(body: Uint8Array, encoding = "identity"): Uint8Array | null {
  try {
    switch (encoding) {
      case "gzip":
        return gunzipSync(body);
      case "br":
        return brotliDecompressSync(body);
      case "deflate":
        return inflateSync(body);
      case "identity":
        return body;
      default:
        return null;
    }
  } catch {
    return null;
  }
}

function parse(body: Uint8Array | null): unknown {
  if (body === null) return null;
  try {
    return JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(body));
  } catch {
    return null;
  }
}

export function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
