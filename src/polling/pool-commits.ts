import type { JudgeOptions, Verdict } from "../core/judge.ts";
import type { PoolVerdict, PoolWatch } from "../core/pool-watch.ts";
import { isSeenWhole } from "../core/target-state.ts";
import type { WatchedTarget } from "./watched-target.ts";

export interface PoolCommitDeps {
  readonly pools: PoolWatch;
  readonly judge: JudgeOptions;
  readonly commit: (targetId: number, verdict: Verdict) => Promise<void>;
}

/**
 * Commits a poll together with what it means for the pools that its target adds to, and gives the
 * whole verdict. Polls of several targets come to the same pools: those that change an incident of a
 * pool go one after the other, or two of them could open the same one.
 */
export function createPoolCommits({
  pools,
  judge,
  commit,
}: PoolCommitDeps): (watched: WatchedTarget, verdict: Verdict) => Promise<Verdict> {
  let turns: Promise<unknown> = Promise.resolve();
  const inTurn = (work: () => Promise<Verdict>): Promise<Verdict> => {
    const ended = turns.then(work);
    turns = ended.catch(() => {});
    return ended;
  };

  const judgePools = (verdict: Verdict, { target }: WatchedTarget): PoolVerdict => {
    const { at, snapshot, progress } = verdict;
    return pools.judge({ target, at, snapshot, whole: isSeenWhole(progress) }, judge);
  };

  const commitBoth = async (
    watched: WatchedTarget,
    verdict: Verdict,
    judged: PoolVerdict,
  ): Promise<Verdict> => {
    const both = { ...verdict, pools: judged.outcome };
    await commit(watched.id, both);
    judged.accept();
    return both;
  };

  return async (watched, verdict) => {
    if (!pools.concerns(watched.target)) {
      await commit(watched.id, verdict);
      return verdict;
    }
    const judged = judgePools(verdict, watched);
    return changesIncidents(judged)
      ? // While it waited, another may have changed them.
        inTurn(() => commitBoth(watched, verdict, judgePools(verdict, watched)))
      : commitBoth(watched, verdict, judged);
  };
}

function changesIncidents({ outcome: { incidents } }: PoolVerdict): boolean {
  return incidents.written.length > 0 || incidents.dropped.length > 0;
}
