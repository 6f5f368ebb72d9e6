import type { OperationProblem } from "../fleet/deviation.ts";
import type { FailureReason } from "../fleet/model.ts";
import type { CallFailure, ValidationEntry } from "../service/failure.ts";
import type { CallResult } from "./client.ts";

/** A failed call as an error. */
export class CallError extends Error {
  override readonly name = "CallError";
  readonly reason: FailureReason;
  /** Of the HTTP response; null: there was none. */
  readonly status: number | null;
  /** The `Retry-After` of a 429 or 5xx. */
  readonly retryAfterMs: number | null;
  /** What a 422 says about the input; otherwise empty. */
  readonly validation: readonly ValidationEntry[];
  /** Whether the operation itself is missing or was moved; otherwise null. */
  readonly problem: OperationProblem | null;

  constructor(failure: CallFailure) {
    super(`The call failed (${failure.reason}): ${failure.detail}`);
    this.reason = failure.reason;
    this.status = failure.status;
    this.retryAfterMs = failure.retryAfterMs;
    this.validation = failure.validation;
    this.problem = failure.problem ?? null;
  }
}

/**
 * The value of a successful call.
 *
 * @throws {CallError} when the call failed
 */
export function orThrow<T>(result: CallResult<T>): T {
  if (result.kind === "ok") return result.value;
  throw new CallError(result);
}
