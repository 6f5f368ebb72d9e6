import { wholeAnswer } from "../fleet/deviation.ts";
import type { Deviation } from "./deviations.ts";
import type { JsonValue } from "./json.ts";
import { shapeOf } from "./value-shape.ts";

/** Why a body gives no listing. The detail never quotes the body. */
export interface ListingRefusal {
  readonly reason: "invalid_body" | "too_large";
  readonly detail: string;
  /** How it differs from what the interface promises, where that is why. */
  readonly deviations: readonly Deviation[];
}

/** Thrown where a fault of the body is found; caught by `readListing`, and by it alone. */
export class ListingFault extends Error {
  override readonly name = "ListingFault";
  readonly refusal: ListingRefusal;

  constructor(
    reason: ListingRefusal["reason"],
    detail: string,
    deviations: readonly Deviation[] = [],
  ) {
    super(detail);
    this.refusal = { reason, detail, deviations };
  }
}

export const endsTooEarly = (): ListingFault =>
  new ListingFault("invalid_body", "the body is not JSON (it ends too early)");

/** @param offset in bytes from the start of the body */
export const notJson = (offset: number): ListingFault =>
  new ListingFault("invalid_body", `the body is not JSON (at byte ${offset})`);

export const notUtf8 = (): ListingFault =>
  new ListingFault("invalid_body", "the body is not UTF-8");

export const tooLarge = (detail: string): ListingFault => new ListingFault("too_large", detail);

export const otherShape = (deviations: readonly Deviation[]): ListingFault =>
  new ListingFault("invalid_body", "the body is not of the promised shape", deviations);

export const notAnObject = (body: JsonValue): ListingFault =>
  otherShape([{ field: wholeAnswer, problem: "wrong_type", count: 1, example: shapeOf(body) }]);
