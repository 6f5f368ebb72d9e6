import type { JudgeOptions } from "../alerts/judge.ts";
import type { PoolOutcome } from "../alerts/judge-pools.ts";
import type { CurrentSuppressions } from "../alerts/silence.ts";
import { targetName, type Target } from "../fleet/model.ts";
import type { Clock } from "../lib/clock.ts";
import type { Logger } from "../lib/logger.ts";
import type { CommitLoop } from "./commit-loop.ts";
import type { PoolObservation, WatchedPools } from "./watched-pools.ts";

export interface PoolWatchDeps {
  readonly pools: WatchedPools;
  readonly store: { commitPools(targetId: number, outcome: PoolOutcome): Promise<void> };
  readonly judge: Omit<JudgeOptions, "suppressions">;
  readonly suppressions: CurrentSuppressions;
  readonly commits: Pick<CommitLoop, "submit">;
  readonly clock: Clock;
  readonly log: Logger;
}

export type PoolWatch = ReturnType<typeof createPoolWatch>;

/** Judges pools over polls that were committed, one after the other. */
export function createPoolWatch(deps: PoolWatchDeps) {
  const { pools, store, commits, judge, suppressions, clock, log } = deps;
  let last: Promise<unknown> = Promise.resolve();

  const judgeNow = async (id: number, observation: PoolObservation): Promise<void> => {
    try {
      await commits.submit(() => {
        const atMs = clock.now().utcMs;
        const judged = pools.judge(observation, { ...judge, suppressions: suppressions.at(atMs) });
        return {
          target: null,
          incidents: judged.outcome.incidents,
          atMs: observation.at.utcMs,
          commit: () => store.commitPools(id, judged.outcome),
          accept: () => pools.accept(judged),
        };
      });
    } catch (err) {
      const { target } = observation;
      pools.lose(target);
      log.error(
        { event: "pool.failed", ...target, err },
        `what a poll of ${targetName(target)} means for its pools could not be stored; the next one decides it again`,
      );
    }
  };

  return {
    /** Never rejects. */
    async judge(targetId: number, observation: PoolObservation): Promise<void> {
      if (!pools.isPooled(observation.target)) return;
      const judging = last.then(() => judgeNow(targetId, observation));
      last = judging;
      await judging;
    },
    /** A poll of the target was not stored, or is missing. */
    lose: (target: Target): void => pools.lose(target),
  };
}
