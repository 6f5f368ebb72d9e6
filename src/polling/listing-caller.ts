import type { SnapshotIntake } from "../core/snapshot/intake.ts";
import type { ListingCall, TakenListing } from "../service/client.ts";
import type { CallFailure as ServiceFailure } from "../service/failure.ts";

/** Asked for each 200 for what takes its listing. */
export type OpenIntake = ListingCall<SnapshotIntake>["openIntake"];

/** What polling needs of the service's client. */
export interface ListingCaller {
  listSandboxes(call: ListingCall<SnapshotIntake>): Promise<CallSuccess | CallFailure>;
}

export interface CallSuccess {
  readonly kind: "ok";
  readonly value: TakenListing<SnapshotIntake>;
}

/** A listing has no input that could be found invalid. */
export type CallFailure = Omit<ServiceFailure, "validation">;
