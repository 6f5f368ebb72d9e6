/** Why a body gives no listing. The detail never quotes the body. */
export interface Refusal {
  readonly reason: "invalid_body" | "too_large";
  readonly detail: string;
}

/** Thrown where a fault of the body is found; caught by the reader, and by it alone. */
export class BodyFault extends Error {
  override readonly name = "BodyFault";
  readonly refusal: Refusal;

  constructor(reason: Refusal["reason"], detail: string) {
    super(detail);
    this.refusal = { reason, detail };
  }
}

export const endedTooEarly = (): BodyFault =>
  new BodyFault("invalid_body", "the body is not JSON (it ends too early)");

/** @param offset in bytes from the start of the body */
export const notJson = (offset: number): BodyFault =>
  new BodyFault("invalid_body", `the body is not JSON (at byte ${offset})`);

export const otherShape = (): BodyFault =>
  new BodyFault("invalid_body", "the body is not of the promised shape");
