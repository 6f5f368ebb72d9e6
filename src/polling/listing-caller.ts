import type { CallResult, ListingCall, TakenListing } from "../service/client.ts";
import type { CallFailure as ServiceFailure } from "../service/failure.ts";

/** What polling needs of the service's client. */
export interface ListingCaller {
  listSandboxes(call: ListingCall): Promise<CallSuccess | CallFailure>;
}

export type CallSuccess = Pick<Extract<CallResult<TakenListing>, { kind: "ok" }>, "kind" | "value">;

/** A listing has no input that could be found invalid. */
export type CallFailure = Omit<ServiceFailure, "validation">;
