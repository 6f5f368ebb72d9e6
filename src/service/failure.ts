import { errors } from "undici";
import type { Deviation, OperationProblem } from "../fleet/deviation.ts";
import type { FailureReason } from "../fleet/model.ts";
import { ProxyError } from "../lib/proxy.ts";

/** One fault of the input, as a 422 reports it, without `input` and `ctx`. */
export interface ValidationEntry {
  readonly loc: readonly (string | number)[];
  readonly msg: string;
  readonly type: string;
}

/** A failed call. It contains no secret: no key, no address, no text of the body. */
export interface CallFailure {
  readonly kind: "failed";
  readonly reason: FailureReason;
  /** The status of the HTTP response; null: no response. */
  readonly status: number | null;
  /** The `Retry-After` of a 429 or 5xx. */
  readonly retryAfterMs: number | null;
  /** A short phrase, such as "HTTP 503" or "connection refused". */
  readonly detail: string;
  /** The entries of a 422 about the input; otherwise empty. */
  readonly validation: readonly ValidationEntry[];
  /** Set where it says something of the operation itself: that it is missing, or elsewhere. */
  readonly problem?: OperationProblem;
  /** How the response deviates from the interface. */
  readonly deviations: readonly Deviation[];
}

export function failure(
  reason: FailureReason,
  detail: string,
  more: Partial<Omit<CallFailure, "kind" | "reason" | "detail">> = {},
): CallFailure {
  const nothing = { status: null, retryAfterMs: null, validation: [], deviations: [] };
  return { kind: "failed", reason, detail, ...nothing, ...more };
}

/** The call was ended by this process: it says nothing of the service. */
export const stopped = failure("network", "stopped");
export const isStopped = ({ detail }: CallFailure): boolean => detail === stopped.detail;

const details: Readonly<Record<string, string>> = {
  ENOTFOUND: "host name not found (ENOTFOUND)",
  EAI_AGAIN: "host name not found (EAI_AGAIN)",
  ENODATA: "host name not found (ENODATA)",
  EMFILE: "sandwatch has too many open files (EMFILE)",
  ECONNREFUSED: "connection refused",
  ECONNRESET: "connection reset",
  EPIPE: "connection reset",
  UND_ERR_SOCKET: "connection closed before the whole response",
  UND_ERR_RES_CONTENT_LENGTH_MISMATCH: "connection closed before the whole response",
  EHOSTUNREACH: "host unreachable (EHOSTUNREACH)",
  ENETUNREACH: "host unreachable (ENETUNREACH)",
  UND_ERR_HEADERS_OVERFLOW: "the response is not HTTP",
};

/** Names an error of the connection by its code: a message may hold addresses. */
export function connectionFailure(error: unknown, status: number | null): CallFailure {
  if (error instanceof ProxyError) return failure(error.reason, error.message, { status });
  const code = codeOf(error);
  if (code === "ETIMEDOUT" || code === "UND_ERR_CONNECT_TIMEOUT") {
    return failure("timeout", "no connection in time", { status });
  }
  if (error instanceof errors.HTTPParserError) {
    return failure("network", "the response is not HTTP", { status });
  }
  const what = /CERT|SSL|TLS|SIGNATURE|EPROTO/.test(code) ? "TLS" : "connection";
  return failure("network", details[code] ?? `${what} failed (${code})`, { status });
}

function codeOf(error: unknown): string {
  const code = error instanceof Error && "code" in error ? error.code : undefined;
  return typeof code === "string" && /^[A-Z][A-Z0-9_]{0,63}$/.test(code) ? code : "no code";
}
