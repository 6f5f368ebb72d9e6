import { z } from "zod";
import { RefusedError } from "../core/refusal.ts";
import type { RefusalKind } from "../core/refusal.ts";
import { CommandError, exitCodes } from "./exit-codes.ts";

/** Nothing listens at the address. */
export class NobodyListensError extends Error {
  override readonly name = "NobodyListensError";
}

const usualPatienceMs = 30_000;

const problemSchema = z.object({ status: z.number(), detail: z.string() });

export interface ApiRequest {
  readonly query?: object;
  readonly body?: object;
  /** How long the answer is waited for. */
  readonly patienceMs?: number;
}

/** Asks the API of a daemon that runs for a path below `/api/v1/`. */
export type ApiCall = <View extends z.ZodType>(
  view: View,
  path: string,
  request: ApiRequest,
) => Promise<z.output<View>>;

/**
 * @param address such as `http://127.0.0.1:9740`
 * @param signal ends calls that are under way
 */
export function createApiCall(address: string, signal?: AbortSignal): ApiCall {
  return async (view, path, { query = {}, ...request }) => {
    const url = new URL(`api/v1/${path}`, address.endsWith("/") ? address : `${address}/`);
    for (const [name, value] of Object.entries(query)) {
      for (const each of Array.isArray(value) ? value : [value]) {
        if (each !== undefined) url.searchParams.append(name, String(each));
      }
    }
    const answer = await send(url, { ...request, signal }, address);
    const content: unknown = await answer.json().catch(() => null);
    if (!answer.ok) throw refusal(answer.status, content, address);
    const read = view.safeParse(content);
    if (!read.success) throw notSandwatch(address);
    return read.data;
  };
}

/** A request with a body changes something, and one without does not. */
async function send(
  url: URL,
  {
    body,
    patienceMs = usualPatienceMs,
    signal,
  }: ApiRequest & { readonly signal: AbortSignal | undefined },
  address: string,
): Promise<Response> {
  try {
    return await fetch(url, {
      redirect: "error",
      signal: AbortSignal.any([AbortSignal.timeout(patienceMs), ...(signal ? [signal] : [])]),
      ...(body && {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify(body),
      }),
    });
  } catch (error) {
    if (isRefusedConnection(error)) {
      throw new NobodyListensError(`Nothing listens at ${address}.`);
    }
    throw new CommandError(
      `${address} did not answer. Is a sandwatch running there?`,
      exitCodes.failed,
    );
  }
}

function isRefusedConnection(error: unknown): boolean {
  const cause = error instanceof Error ? error.cause : undefined;
  return cause instanceof Error && "code" in cause && cause.code === "ECONNREFUSED";
}

const kinds: ReadonlyMap<number, RefusalKind> = new Map([
  [400, "invalid"],
  [404, "not_found"],
  [409, "conflict"],
  [429, "busy"],
]);

function refusal(status: number, content: unknown, address: string): Error {
  const problem = problemSchema.safeParse(content);
  if (!problem.success) return notSandwatch(address);
  const kind = kinds.get(status);
  return kind
    ? new RefusedError(kind, problem.data.detail)
    : new CommandError(`${address}: ${problem.data.detail}`, exitCodes.failed);
}

function notSandwatch(address: string): CommandError {
  return new CommandError(
    `What answers at ${address} is no sandwatch of this version.`,
    exitCodes.failed,
  );
}
