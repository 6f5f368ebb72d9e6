/** An invalid part of a request. */
export interface RequestFault {
  /** Such as `match.region`; empty for the request as a whole. */
  readonly path: string;
  readonly allowed: string;
}

export type RefusalKind = "invalid" | "not_found" | "conflict" | "busy" | "unavailable";

/**
 * A request that cannot be fulfilled, without a bug of the program. The message says what cannot be done, why, and what
 * to do instead.
 */
export class RefusedError extends Error {
  override readonly name = "RefusedError";
  readonly kind: RefusalKind;
  readonly faults: readonly RequestFault[];

  constructor(kind: RefusalKind, message: string, faults: readonly RequestFault[] = []) {
    super(message);
    this.kind = kind;
    this.faults = faults;
  }
}

/** The request can succeed later. */
export class BusyError extends RefusedError {
  /** When to try again, in milliseconds from now. */
  readonly retryAfterMs: number;

  constructor(message: string, retryAfterMs: number, kind: "busy" | "unavailable" = "busy") {
    super(kind, message);
    this.retryAfterMs = retryAfterMs;
  }
}
