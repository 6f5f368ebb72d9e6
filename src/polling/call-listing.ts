import type { Target } from "../core/model.ts";
import type { Secret } from "../platform/secret.ts";
import type { ListingCall } from "../service/client.ts";
import type { CallFailure, CallSuccess, ListingCaller } from "./listing-caller.ts";
import { createPersistentCall } from "./persistent-call.ts";
import type { CallTurn, PersistentCallDeps, Unasked } from "./persistent-call.ts";

/** What came of a target's turn. */
export type TurnOutcome = CallSuccess | CallFailure | Unasked;

export interface CallListingDeps extends PersistentCallDeps {
  readonly service: ListingCaller;
}

export interface Turn extends CallTurn, Pick<ListingCall, "before" | "poll"> {
  readonly apiKey: Secret;
}

export type CallListing = (target: Target, turn: Turn) => Promise<TurnOutcome>;

/** Asks for a target's listing, as persistently as the time until its next turn allows. */
export function createCallListing(deps: CallListingDeps): CallListing {
  const callPersistently = createPersistentCall(deps);
  return (target, turn) => {
    const { region } = target;
    const { apiKey, before, poll } = turn;
    return callPersistently(target, turn, (attempt) =>
      deps.service.listSandboxes({ region, apiKey, before, poll, ...attempt }),
    );
  };
}
