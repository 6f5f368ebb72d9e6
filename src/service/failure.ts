import { errors } from "undici";
import type { OperationProblem } from "../fleet/deviation.ts";
import type { FailureReason } from "../fleet/model.ts";

/** One fault of the input, as a 422 tells it. Its `input` and `ctx` are left behind. */
export interface ValidationEntry {
  readonly loc: readonly (string | number)[];
  readonly msg: string;
  readonly type: string;
}

/** A call that gave nothing. Nothing in it is secret: no key, no address, no text of the body. */
export interface CallFailure {
  readonly kind: "failed";
  readonly reason: FailureReason;
  /** Of the HTTP answer; null where not even its head came. */
  readonly status: number | null;
  /** What `Retry-After` asks for, where there was one beside a 429 or 5xx. */
  readonly retryAfterMs: number | null;
  /** A short phrase, such as "HTTP 503" or "connection refused". */
  readonly detail: string;
  /** What a 422 said about the input; else empty. */
  readonly validation: readonly ValidationEntry[];
  /** Set where it says something of the operation itself: that it is not there, or elsewhere. */
  readonly problem?: OperationProblem;
}

export function failure(
  reason: FailureReason,
  detail: string,
  more: Partial<Omit<CallFailure, "kind" | "reason" | "detail">> = {},
): CallFailure {
  return {
    kind: "failed",
    reason,
    status: null,
    retryAfterMs: null,
    detail,
    validation: [],
    ...more,
  };
}

export function reasonOfStatus(status: number): FailureReason {
  if (status === 401 || status === 403) return "auth";
  if (status === 429) return "rate_limited";
  return status >= 500 && status <= 599 ? "server_error" : "http_error";
}

/** Names an error of the connection by its code: a message may hold addresses. */
export function connectionFailure(error: unknown, status: number | null): CallFailure {
  const code = codeOf(error);
  if (code === "ETIMEDOUT" || code === "UND_ERR_CONNECT_TIMEOUT") {
    return failure("timeout", "no connection in time", { status });
  }
  const isHttp = !(error instanceof errors.HTTPParserError) && code !== "UND_ERR_HEADERS_OVERFLOW";
  return failure("network", isHttp ? describe(code) : "the answer is not HTTP", { status });
}

function describe(code: string): string {
  switch (code) {
    case "ENOTFOUND":
    case "EAI_AGAIN":
    case "ENODATA":
      return `host name not found (${code})`;
    case "ECONNREFUSED":
      return "connection refused";
    case "ECONNRESET":
    case "EPIPE":
      return "connection reset";
    case "UND_ERR_SOCKET":
    case "UND_ERR_RES_CONTENT_LENGTH_MISMATCH":
      return "connection closed before the whole answer";
    case "EHOSTUNREACH":
    case "ENETUNREACH":
      return `host unreachable (${code})`;
    default:
      return `${/CERT|SSL|TLS|SIGNATURE|EPROTO/.test(code) ? "TLS" : "connection"} failed (${code})`;
  }
}

function codeOf(error: unknown): string {
  const code = error instanceof Error && "code" in error ? error.code : undefined;
  return typeof code === "string" && /^[A-Z][A-Z0-9_]{0,63}$/.test(code) ? code : "no code";
}
