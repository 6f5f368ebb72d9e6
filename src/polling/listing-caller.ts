import type { FailureReason, Listing } from "../core/model.ts";
import type { Secret } from "../platform/secret.ts";

/** What polling needs of the service's client. */
export interface ListingCaller {
  listSandboxes(call: {
    readonly region: string;
    readonly apiKey: Secret;
    readonly signal?: AbortSignal;
    /** Asked before the request is sent once more because a kept connection turned out dead. */
    readonly mayResend?: () => boolean;
  }): Promise<CallSuccess | CallFailure>;
}

export interface CallSuccess {
  readonly kind: "ok";
  readonly value: Listing;
  readonly deviations: readonly Deviation[];
}

export interface CallFailure {
  readonly kind: "failed";
  readonly reason: FailureReason;
  /** The HTTP status, where there was an answer. */
  readonly status: number | null;
  readonly retryAfterMs: number | null;
  /** A short sentence for a person, without anything secret. */
  readonly detail: string;
}

/** Where an answer was not as the interface has it, and how often. */
export interface Deviation {
  readonly field: string;
  readonly problem: string;
  readonly count: number;
}
