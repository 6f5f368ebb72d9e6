import type { Listing } from "../core/model.ts";
import type { Call } from "../service/client.ts";
import type { Deviation } from "../service/deviations.ts";
import type { CallFailure as ServiceFailure } from "../service/failure.ts";

/** What polling needs of the service's client. */
export interface ListingCaller {
  listSandboxes(call: Call): Promise<CallSuccess | CallFailure>;
}

export interface CallSuccess {
  readonly kind: "ok";
  readonly value: Listing;
  readonly deviations: readonly Deviation[];
}

/** A listing has no input that could be found invalid. */
export type CallFailure = Omit<ServiceFailure, "validation">;
