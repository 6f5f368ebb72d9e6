import type { IncidentOutcome } from "../core/incident-ledger.ts";
import { judgeReceiver } from "../core/judge-receivers.ts";
import type { ReceiverJudgeOptions, ReceiverState } from "../core/judge-receivers.ts";
import type { Clock } from "../platform/clock.ts";

export interface ReviewDeps {
  readonly store: {
    readonly untargeted: {
      judgeReceivers(
        judge: (state: ReceiverState) => IncidentOutcome,
      ): Promise<readonly IncidentOutcome[]>;
    };
  };
  readonly clock: Pick<Clock, "now">;
  readonly judge: ReceiverJudgeOptions;
  /** To be called with what was committed; there may be more to deliver. */
  readonly onJudged: (outcome: IncidentOutcome) => void;
}

/** Looks at what receivers are in, also when nothing is delivered to them. All of it is one step. */
export function createReview({ store, clock, judge, onJudged }: ReviewDeps) {
  return {
    what: "incidents of receivers",
    // The configuration may be another than before.
    isDueAtStart: true,
    async step(): Promise<boolean> {
      const atMs = clock.now().utcMs;
      const outcomes = await store.untargeted.judgeReceivers((state) =>
        judgeReceiver(state, { kind: "time_passed" }, atMs, judge),
      );
      outcomes.forEach(onJudged);
      return false;
    },
  };
}
