import { statuses } from "./model.ts";
import type { Status } from "./model.ts";
import type { Snapshot } from "./snapshot/snapshot.ts";

/** How a stretch of a target's time is accounted for. Milliseconds. */
export interface Booking {
  /** Server time by name and status; empty when the stretch was not observed. */
  readonly servers: readonly ServerTime[];
  /** Of the target, not of its servers. */
  readonly unobservedMs: number;
}

export interface ServerTime {
  readonly serverName: string;
  readonly status: Status;
  readonly ms: number;
}

/**
 * Books the time between two complete polls to the status each server was in. Any other time is
 * unobserved, never idle. A server that the earlier listing lacked has no time booked.
 */
export function bookTime(before: Snapshot, elapsedMs: number, observed: boolean): Booking {
  if (!observed) return { servers: [], unobservedMs: elapsedMs };
  const servers: ServerTime[] = [];
  for (const { name, listed } of before.tallies()) {
    for (const status of statuses) {
      const count = listed[status];
      if (count > 0) servers.push({ serverName: name, status, ms: count * elapsedMs });
    }
  }
  return { servers, unobservedMs: 0 };
}
