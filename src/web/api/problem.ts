import type { FastifyReply } from "fastify";
import { BusyError, RefusedError, type RequestFault } from "../../lib/refused-error.ts";
import { statusText } from "../../lib/http-status.ts";

/** An error as in RFC 9457. */
export interface Problem {
  readonly status: number;
  readonly detail: string;
  /** Which parts of the request are wrong. */
  readonly errors?: readonly RequestFault[];
  /** When to try again. */
  readonly retryAfterMs?: number;
}

export function sendProblem(
  reply: FastifyReply,
  { status, detail, errors = [], retryAfterMs }: Problem,
): FastifyReply {
  const title = statusText(status);
  const problem = {
    type: "about:blank",
    title,
    status,
    detail,
    ...(errors.length > 0 && { errors }),
  };
  sayRetryAfter(reply, retryAfterMs);
  // As bytes: Fastify would add a charset to a text, which this media type does not have.
  const body = Buffer.from(JSON.stringify(problem));
  return reply.code(status).type("application/problem+json").send(body);
}

/** In whole seconds, at least one. */
export function sayRetryAfter(reply: FastifyReply, ms: number | undefined): void {
  if (ms !== undefined) void reply.header("retry-after", Math.max(1, Math.ceil(ms / 1_000)));
}

/** Of a request. */
export const bodyLimit = 256 * 1_024;

const statusOf = { invalid: 400, not_found: 404, conflict: 409, busy: 429 } as const;

/** The response to an error. An unexpected one is sent without details. */
export function asProblem(error: unknown): Problem {
  if (error instanceof RefusedError) {
    const problem = { status: statusOf[error.kind], detail: error.message, errors: error.faults };
    return error instanceof BusyError ? { ...problem, retryAfterMs: error.retryAfterMs } : problem;
  }
  const status = clientStatus(error);
  if (status === null) return { status: 500, detail: "Internal error; see the log." };
  if (status === 413) return { status, detail: `A body has at most ${bodyLimit} bytes.` };
  return { status, detail: "The body must be JSON." };
}

/** The 4xx status of one of Fastify's own errors; null: it is another error. */
export function clientStatus(error: unknown): number | null {
  const isObject = typeof error === "object" && error !== null && "statusCode" in error;
  const status = isObject && typeof error.statusCode === "number" ? error.statusCode : 500;
  return status >= 400 && status < 500 ? status : null;
}

export function wrongMethod(method: string, allowed: readonly string[]): Problem {
  const detail = `${method} is not allowed for this address, only ${allowed.join(", ")}.`;
  return { status: 405, detail };
}
