import type { Verdict } from "../../../src/alerts/judge.ts";
import { initialProgress, nothingKnown } from "../../../src/alerts/target-state.ts";
import { runAtOnce } from "../../../src/fleet/slices.ts";
import { emptySnapshot, restoreSnapshot } from "../../../src/fleet/snapshot.ts";
import type { Keeper } from "./play.ts";
import { createWrittenBuckets, type WrittenBuckets } from "./written-buckets.ts";

/** What a store would hold of one target's history, copied as it is written. */
export interface Paper extends Keeper {
  readonly buckets: WrittenBuckets;
}

export function createPaper(): Paper {
  const buckets = createWrittenBuckets();
  let { sandboxes } = emptySnapshot;
  let progress = initialProgress;
  return {
    buckets,
    async restore(target) {
      return {
        known: {
          id: 1,
          target,
          ...nothingKnown,
          progress,
          buckets: structuredClone(buckets.open()),
        },
        snapshot: runAtOnce(restoreSnapshot(sandboxes)),
      };
    },
    async commit(_, verdict: Verdict) {
      ({ progress } = verdict);
      buckets.write(verdict.accounting.written);
      sandboxes = structuredClone(verdict.snapshot.sandboxes);
    },
  };
}
