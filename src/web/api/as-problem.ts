import { BusyError, RefusedError } from "../../core/refusal.ts";
import type { Problem } from "./problem.ts";

/** Of a request. */
export const bodyLimit = 256 * 1_024;

const statusOf = { invalid: 400, not_found: 404, conflict: 409, busy: 429 } as const;

/** What is answered for what was thrown: of what nobody expected, no detail. */
export function asProblem(error: unknown): Problem {
  if (error instanceof RefusedError) {
    return {
      status: statusOf[error.kind],
      detail: error.message,
      errors: error.faults,
      ...(error instanceof BusyError && { retryAfterMs: error.retryAfterMs }),
    };
  }
  const status = statusCodeOf(error);
  if (status === 413) return { status, detail: `A body has at most ${bodyLimit} bytes.` };
  if (status >= 400 && status < 500) return { status, detail: "The body must be JSON." };
  return { status: 500, detail: "Internal error, see the log." };
}

/** Fastify's own errors say which status they stand for. */
function statusCodeOf(error: unknown): number {
  const isObject = typeof error === "object" && error !== null && "statusCode" in error;
  return isObject && typeof error.statusCode === "number" ? error.statusCode : 500;
}
