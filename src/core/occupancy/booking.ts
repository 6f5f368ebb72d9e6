import type { Snapshot } from "../snapshot/snapshot.ts";
import type { NameTally } from "../snapshot/tallies.ts";

/** How the stretch from one poll of a target to its next one is accounted for. */
export interface Booking {
  /** Whole milliseconds. */
  readonly elapsedMs: number;
  /** Whether both polls were complete: only then was any server watched. */
  readonly observed: boolean;
  /** The servers that were known throughout, by name. The same map for as long as they are the same. */
  readonly tallies: ReadonlyMap<string, NameTally>;
}

/**
 * Books the time between two complete polls to the status each server was in. Any other time is
 * unobserved, never idle; so is that of a server which the earlier listing lacked.
 *
 * @param elapsedMs whole milliseconds
 */
export function bookTime(before: Snapshot, elapsedMs: number, observed: boolean): Booking {
  return { elapsedMs, observed, tallies: before.talliesByName };
}

/** Of the target, not of its servers. */
export function unobservedMsOf({ elapsedMs, observed }: Booking): number {
  return observed ? 0 : elapsedMs;
}
