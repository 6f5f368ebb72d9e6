import { CountedChanges } from "../../src/core/counted-changes.ts";
import { presences } from "../../src/core/model.ts";
import type { Status } from "../../src/core/model.ts";
import type { EndedStays } from "../../src/core/occupancy/accounts.ts";
import { createTallies } from "../../src/core/snapshot/tallies.ts";

/** A stay that ended with a poll. */
export interface EndedStay {
  readonly serverName: string;
  readonly status: Status;
  readonly ms: number;
}

/** As changes that end them are counted. */
export function endedStays(stays: readonly EndedStay[]): EndedStays {
  const counts = new CountedChanges(createTallies());
  const toNumber = presences.indexOf("absent");
  for (const { serverName, status, ms } of stays) {
    const fromNumber = presences.indexOf(status);
    counts.add(counts.countsOf(serverName), { fromNumber, toNumber, stayMs: ms });
  }
  return counts.finish().endedStays;
}
