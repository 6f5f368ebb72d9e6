import { z } from "zod";
import { RefusedError } from "../lib/refusal.ts";
import type { RefusalKind } from "../lib/refusal.ts";
import { operationsRoot, pathFields, readRequest } from "./operation.ts";
import type { CallApi, Operation } from "./operation.ts";

/** No sandwatch of this version answered. */
export class ApiUnavailableError extends Error {
  override readonly name = "ApiUnavailableError";
  /** Whether the connection was refused. */
  readonly nothingListens: boolean;

  constructor(message: string, nothingListens = false) {
    super(message);
    this.nothingListens = nothingListens;
  }
}

const usualTimeoutMs = 30_000;

/**
 * Calls the operations of a running daemon over HTTP. A call rejects with a `RefusedError` or an
 * `ApiUnavailableError`.
 *
 * @param address such as `http://127.0.0.1:9740`
 * @param signal ends calls that are in progress
 */
export function createApiClient(address: string, signal?: AbortSignal): CallApi {
  return async (operation, request) => {
    // Checked here because a URL would change text that is not well-formed.
    readRequest(operation.request, request);
    const response = await send(address, operation, Object(request), signal);
    const content: unknown = await response.json().catch(() => null);
    const read = response.ok ? operation.response.safeParse(content) : null;
    if (read?.success) return read.data;
    const problem = response.ok ? null : problemSchema.safeParse(content);
    if (!problem?.success) {
      throw new ApiUnavailableError(`The server at ${address} is not a sandwatch of this version.`);
    }
    const { detail } = problem.data;
    const kind = kinds.get(response.status);
    if (kind) throw new RefusedError(kind, detail);
    throw new ApiUnavailableError(`${address}: ${detail}`);
  };
}

const problemSchema = z.object({ detail: z.string() });

const kinds: ReadonlyMap<number, RefusalKind> = new Map([
  [400, "invalid"],
  [404, "not_found"],
  [409, "conflict"],
  [429, "busy"],
]);

async function send(
  address: string,
  { method, path, timeoutMs = usualTimeoutMs }: Operation,
  request: Readonly<Record<string, unknown>>,
  signal: AbortSignal | undefined,
): Promise<Response> {
  const inPath = pathFields(path);
  const filled = path.replaceAll(/\{(\w+)\}/g, (_, name: string) =>
    encodeURIComponent(String(request[name])),
  );
  const base = address.endsWith("/") ? address : `${address}/`;
  const url = new URL(operationsRoot.slice(1) + filled, base);
  const sent = Object.entries(request).filter(([name]) => !inPath.includes(name));
  if (method === "GET") {
    for (const [name, value] of sent) {
      for (const each of Array.isArray(value) ? value : [value]) {
        if (each !== undefined) url.searchParams.append(name, String(each));
      }
    }
  }
  try {
    return await fetch(url, {
      method,
      redirect: "error",
      signal: AbortSignal.any([AbortSignal.timeout(timeoutMs), ...(signal ? [signal] : [])]),
      ...(method === "POST" && {
        headers: { "content-type": "application/json" },
        body: JSON.stringify(Object.fromEntries(sent)),
      }),
    });
  } catch (error) {
    const cause = error instanceof Error ? error.cause : undefined;
    if (cause instanceof Error && "code" in cause && cause.code === "ECONNREFUSED") {
      throw new ApiUnavailableError(`Nothing listens at ${address}.`, true);
    }
    throw new ApiUnavailableError(`${address} did not respond. Is sandwatch running there?`);
  }
}
