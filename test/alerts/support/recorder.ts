import { noOpenBuckets, recordTime } from "../../../src/fleet/accounting.ts";
import type { Accounting, BucketWrite, OpenBuckets } from "../../../src/fleet/accounting.ts";
import type { Bucket, Resolution } from "../../../src/fleet/buckets.ts";
import { noneByStatus, noTallies } from "../../../src/fleet/tallies.ts";
import type { CountByStatus, NameTally } from "../../../src/fleet/tallies.ts";
import { endedDwells, type EndedDwell } from "../../support/ended-dwells.ts";

export const recordingStartMs = Date.UTC(2026, 10, 20, 9, 58, 20);

export const tally = (name: string, listed: Partial<CountByStatus>, missing = 0): NameTally => {
  const counts = { ...noneByStatus, ...listed };
  return { name, listed: counts, servers: { ...counts, idle: counts.idle + missing } };
};

export function byName(tallies: readonly NameTally[]): ReadonlyMap<string, NameTally> {
  return new Map(tallies.map((each) => [each.name, each]));
}

/** What is recorded, one stretch after another, and the buckets that a store would be given. */
export function createRecorder() {
  const written = new Map<string, BucketWrite>();
  let open: OpenBuckets = noOpenBuckets;
  let atMs = recordingStartMs;
  let last = { tallies: [] as readonly NameTally[], byName: byName([]) };
  return {
    get atMs() {
      return atMs;
    },
    ofResolution: (wanted: Resolution): readonly Bucket[] =>
      [...written.values()]
        .filter(({ resolution }) => resolution === wanted)
        .map(({ bucket }) => bucket),
    pass(
      elapsedMs: number,
      tallies: readonly NameTally[],
      { observed = true, dwells = [] as readonly EndedDwell[], steppedMs = 0 } = {},
    ): Accounting {
      atMs += elapsedMs + steppedMs;
      // As of a snapshot: the same map for as long as it counts the same.
      if (tallies !== last.tallies) last = { tallies, byName: byName(tallies) };
      const stretch = { elapsedMs, observed, tallies: { ...noTallies, names: last.byName } };
      const step = recordTime(open, stretch, atMs, endedDwells(dwells));
      for (const row of step.written) {
        written.set(`${row.resolution} ${row.bucket.startMs}`, structuredClone(row));
      }
      open = step.open;
      return step;
    },
  };
}
