import type { Verdict } from "../../../src/core/judge.ts";
import type { PackedSnapshot } from "../../../src/core/snapshot/packed-snapshot.ts";
import { pageOf } from "../../../src/core/snapshot/page.ts";
import type { Page } from "../../../src/core/snapshot/page.ts";
import { restoreSnapshot } from "../../../src/core/snapshot/restore-snapshot.ts";
import { initialProgress, nothingKnown } from "../../../src/core/target-state.ts";
import type { Keeper } from "./play.ts";
import { createWrittenBuckets } from "./written-buckets.ts";
import type { WrittenBuckets } from "./written-buckets.ts";

/** What a store would hold of one target's history, copied as it is written. */
export interface Paper extends Keeper {
  readonly buckets: WrittenBuckets;
}

export function createPaper(): Paper {
  const buckets = createWrittenBuckets();
  const pages = new Map<number, Page>();
  let progress = initialProgress;
  const snapshot = (): PackedSnapshot =>
    restoreSnapshot([...pages.values()].toSorted((one, other) => one.id - other.id));
  return {
    buckets,
    async restore(target) {
      const accounts = structuredClone(buckets.accounts());
      return {
        known: { id: 1, target, ...nothingKnown, progress, accounts },
        snapshot: snapshot(),
      };
    },
    async commit(_, verdict: Verdict) {
      ({ progress } = verdict);
      buckets.write(verdict.accounting.written);
      for (const { after } of verdict.pages?.replaced ?? []) {
        pages.set(after.id, pageOf(after, after.words));
      }
      for (const id of verdict.pages?.removed ?? []) pages.delete(id);
    },
  };
}
