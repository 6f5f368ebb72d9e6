import type { OperationProblem } from "../core/deviation.ts";
import type { FailureReason } from "../core/model.ts";
import type { CallFailure, ValidationEntry } from "../service/failure.ts";
import type { CallResult } from "./client.ts";

/** A call's failure as an error, for those who would rather catch than look. */
export class CallError extends Error {
  override readonly name = "CallError";
  readonly reason: FailureReason;
  /** Of the HTTP answer; null where not even its head came. */
  readonly status: number | null;
  /** What `Retry-After` asks for, where there was one beside a 429 or 5xx. */
  readonly retryAfterMs: number | null;
  /** What a 422 said about the input; else empty. */
  readonly validation: readonly ValidationEntry[];
  /** What the answer says of the operation itself: that it is not there, or elsewhere; else null. */
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
 * What a call gave.
 *
 * @throws {CallError} where it gave nothing
 */
export function orThrow<T>(result: CallResult<T>): T {
  if (result.kind === "ok") return result.value;
  throw new CallError(result);
}
