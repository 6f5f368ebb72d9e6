import { type Deviation, wholeAnswer } from "../../core/deviation.ts";
import type { JsonValue } from "../json.ts";
import { shapeOf } from "../value-shape.ts";

/** Why a body gives no listing. The detail never quotes the body. */
export interface Refusal {
  readonly reason: "invalid_body" | "too_large";
  readonly detail: string;
  /** How it differs from what is promised, where that is why. */
  readonly deviations: readonly Deviation[];
}

/** Thrown where a fault of the body is found; caught by the reader, and by it alone. */
export class BodyFault extends Error {
  override readonly name = "BodyFault";
  readonly refusal: Refusal;

  constructor(reason: Refusal["reason"], detail: string, deviations: readonly Deviation[] = []) {
    super(detail);
    this.refusal = { reason, detail, deviations };
  }
}

export const endedTooEarly = (): BodyFault =>
  new BodyFault("invalid_body", "the body is not JSON (it ends too early)");

/** @param offset in bytes from the start of the body */
export const notJson = (offset: number): BodyFault =>
  new BodyFault("invalid_body", `the body is not JSON (at byte ${offset})`);

export const otherShape = (deviations: readonly Deviation[]): BodyFault =>
  new BodyFault("invalid_body", "the body is not of the promised shape", deviations);

export const notAnObject = (body: JsonValue): BodyFault =>
  otherShape([{ field: wholeAnswer, problem: "wrong_type", count: 1, example: shapeOf(body) }]);
