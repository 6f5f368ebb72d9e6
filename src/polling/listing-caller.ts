import type { SnapshotIntake } from "../core/snapshot/intake.ts";
import type { Call } from "../service/client.ts";
import type { Deviation } from "../service/deviations.ts";
import type { CallFailure as ServiceFailure } from "../service/failure.ts";

/** Opened anew for each request that is sent. */
export type OpenIntake = () => SnapshotIntake;

/** What polling needs of the service's client. */
export interface ListingCaller {
  listSandboxes(
    call: Call & { readonly openIntake: OpenIntake },
  ): Promise<CallSuccess | CallFailure>;
}

export interface CallSuccess {
  readonly kind: "ok";
  /** The intake that took the listing in, and whether it took in all of it. */
  readonly value: { readonly intake: SnapshotIntake; readonly complete: boolean };
  readonly deviations: readonly Deviation[];
}

/** A listing has no input that could be found invalid. */
export type CallFailure = Omit<ServiceFailure, "validation">;
