/** One part of a request that cannot be as it is. */
export interface RequestFault {
  /** Such as `match.region`; empty for the request as a whole. */
  readonly path: string;
  readonly allowed: string;
}

export type RefusalKind = "invalid" | "not_found" | "conflict" | "busy";

/**
 * What somebody asked for cannot be done, and it is not a fault of the program: the message says what,
 * why, and what to do instead.
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

/** It can be done, but not now. */
export class BusyError extends RefusedError {
  /** After how long it is worth asking again. */
  readonly retryAfterMs: number;

  constructor(message: string, retryAfterMs: number) {
    super("busy", message);
    this.retryAfterMs = retryAfterMs;
  }
}
