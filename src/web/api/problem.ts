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

const mediaType = "application/problem+json";

export function sendProblem(reply: FastifyReply, problem: Problem): FastifyReply {
  sayRetryAfter(reply, problem.retryAfterMs);
  return reply.code(problem.status).type(mediaType).send(bodyOf(problem));
}

/** A whole response, for a request that cannot be read. The connection is closed after it. */
export function rawProblem(problem: Problem, headers: Readonly<Record<string, string>>): string {
  const body = bodyOf(problem);
  const all = {
    ...headers,
    "content-type": mediaType,
    "content-length": body.length,
    connection: "close",
  };
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`);
  const { status } = problem;
  return `HTTP/1.1 ${status} ${statusText(status)}\r\n${lines.join("")}\r\n${body.toString()}`;
}

/** As bytes: Fastify would add a charset to a text, which this media type does not have. */
function bodyOf({ status, detail, errors = [] }: Problem): Buffer {
  const title = statusText(status);
  const listed = errors.length > 0 && { errors };
  return Buffer.from(JSON.stringify({ type: "about:blank", title, status, detail, ...listed }));
}

/** In whole seconds, at least one. */
export function sayRetryAfter(reply: FastifyReply, ms: number | undefined): void {
  if (ms !== undefined) void reply.header("retry-after", Math.max(1, Math.ceil(ms / 1_000)));
}

/** Of a request. */
export const bodyLimit = 256 * 1_024;

export const tooLarge: Problem = { status: 413, detail: `A body has at most ${bodyLimit} bytes.` };

const statusOf = {
  invalid: 400,
  not_found: 404,
  conflict: 409,
  busy: 429,
  unavailable: 503,
} as const;

/** The response to an error. An unexpected one is sent without details. */
export function asProblem(error: unknown): Problem {
  if (error instanceof RefusedError) {
    const problem = { status: statusOf[error.kind], detail: error.message, errors: error.faults };
    return error instanceof BusyError ? { ...problem, retryAfterMs: error.retryAfterMs } : problem;
  }
  const status = clientStatus(error);
  if (status === null) return { status: 500, detail: "Internal error; see the log." };
  if (status === tooLarge.status) return tooLarge;
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
