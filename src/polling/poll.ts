import { isQuiet, judgeInSlices } from "../alerts/judge.ts";
import type { JudgeOptions, PollOutcome, Verdict } from "../alerts/judge.ts";
import type { Drift } from "../fleet/drift.ts";
import { targetName } from "../fleet/model.ts";
import type { Instant, Target } from "../fleet/model.ts";
import type { Schedule } from "../fleet/schedule.ts";
import type { CurrentSuppressions, Suppressions } from "../alerts/silence.ts";
import { isFullyObserved } from "../alerts/target-state.ts";
import type { PollDetail } from "../alerts/target-view.ts";
import type { Metrics } from "../metrics/metrics.ts";
import type { Clock } from "../lib/clock.ts";
import type { Logger } from "../lib/logger.ts";
import { runInSlices } from "../lib/iterables.ts";
import type { Secret } from "../lib/secret.ts";
import type { CallResult, ServiceClient, TakenListing } from "../service/client.ts";
import type { Store } from "../store/store.ts";
import type { CommitLoop } from "./commit-loop.ts";
import { logListing, noListing, pollLines } from "./poll-log.ts";
import { longestBackOffMs } from "./runner.ts";
import type { PoolWatch } from "./watched-pools.ts";
import type { RegionWatch } from "./region-watch.ts";
import type { Outcome, Unit } from "./runner.ts";
import type { WatchedTarget } from "./watched-target.ts";

export type Listed = Extract<CallResult<TakenListing>, { readonly kind: "ok" }>;

export interface TargetUnitsDeps {
  readonly apiKeys: ReadonlyMap<string, Secret>;
  readonly schedule: Schedule;
  readonly service: Pick<ServiceClient, "listSandboxes">;
  readonly judge: Omit<JudgeOptions, "suppressions">;
  readonly suppressions: CurrentSuppressions;
  readonly pools: PoolWatch;
  readonly regions: Pick<RegionWatch, "wake">;
  readonly recordDrift: (drift: Drift) => void;
  readonly store: Pick<Store, "commitPoll">;
  readonly commits: Pick<CommitLoop, "commit" | "publish">;
  readonly metrics: Pick<Metrics["polls"], "polled" | "committed" | "lost">;
  readonly log: Logger;
  readonly clock: Clock;
}

/** The targets as the runner polls them. One whose key is not configured is not polled. */
export function createTargetUnits(
  targets: readonly WatchedTarget[],
  deps: TargetUnitsDeps,
): readonly Unit<Listed>[] {
  const { service, judge, suppressions, pools, regions, recordDrift } = deps;
  const { store, commits, metrics, log, clock, schedule } = deps;

  return targets.flatMap((watched): Unit<Listed>[] => {
    const { id, target } = watched;
    const { region, key } = target;
    const name = targetName(target);
    const apiKey = deps.apiKeys.get(key);
    if (!apiKey) return [];
    const isPooled = pools.isPooled(target);
    let logged = noListing;
    /**
     * A silence that is added while a large listing is judged suppresses what is not committed yet. The listing is judged
     * once more, and not again and again: that would delay what it shows for as long as people are busy.
     */
    const judgeBySilences = async (polled: PollOutcome, at: Instant): Promise<Verdict> => {
      const judgeBy = (by: Suppressions): Promise<Verdict> =>
        runInSlices(judgeInSlices(watched.state, polled, at, { ...judge, suppressions: by }));
      const before = suppressions.at(clock.now().utcMs);
      const verdict = await judgeBy(before);
      const current = suppressions.at(clock.now().utcMs);
      return current.acknowledgedBy === before.acknowledgedBy ? verdict : judgeBy(current);
    };

    const unit: Unit<Listed> = {
      name,
      target,
      schedule,
      isUrgent: () => watched.state.incidents.size > 0,
      async call(attempt) {
        const { snapshot: before, progress } = watched.state;
        // The texts of different targets are parsed again at different polls.
        const poll = id + progress.observed.polls;
        const result = await service.listSandboxes({ ...attempt, region, apiKey, before, poll });
        const { deviations } = result;
        if (deviations.length > 0) recordDrift({ region, operation: "list_sandboxes", deviations });
        return result;
      },

      async commit(outcome, { startedMs, endedMs, deadlineMs, isNewlyRefused }) {
        if (isNewlyRefused) logRefusal(log, target, deadlineMs - startedMs);
        const { polled, detail } = readOutcome(outcome);
        if (polled.kind !== "backing_off") {
          const reason = polled.kind === "failed" ? polled.reason : null;
          metrics.polled(watched, reason, outcome.kind === "not_sent" ? null : endedMs - startedMs);
        }
        if (outcome.kind === "ok") logged = logListing(log, target, outcome.value, logged);
        const at = clock.now();
        const { lostPolls } = watched;
        const { verdict, tookMs } = await commits.commit(async () => {
          const decided = await judgeBySilences(polled, at);
          const committingMs = clock.now().monotonicMs;
          await store.commitPoll(id, decided);
          return { verdict: decided, tookMs: clock.now().monotonicMs - committingMs };
        });
        const { snapshot, progress, reachability, incidents } = verdict;
        watched.accept(verdict, detail);
        metrics.committed(watched, verdict, isQuiet(verdict) ? null : tookMs);
        if (progress.failuresInARow > 0 || reachability !== null) regions.wake(region);
        const whole = isFullyObserved(progress);
        // Before receivers are notified: servers and the pool that contains them can be one message.
        if (isPooled) await pools.judge(id, { target, at, snapshot, whole });
        const lines = pollLines(log, target, verdict, { detail: detail?.text ?? null, lostPolls });
        await commits.publish({ target, incidents, atMs: at.utcMs, lines });
      },

      lose(err) {
        watched.losePoll(err);
        pools.lose(target);
        metrics.lost();
        if (watched.lostPolls > 1) return;
        log.error(
          { event: "poll.failed", ...target, err },
          `a poll of ${name} was lost; this is logged again only after one was stored`,
        );
      },

      noteGap() {
        watched.noteGap();
        pools.lose(target);
      },
    };
    return [unit];
  });
}

function logRefusal(log: Logger, target: Target, retryMs: number): void {
  log.warn(
    { event: "target.refused", ...target, retry_seconds: Math.round(retryMs / 1_000) },
    `the service refuses the key of ${targetName(target)}: check the key; it is tried again at the next poll, and then with a delay that doubles up to ${longestBackOffMs / 60_000} minutes`,
  );
}

/** The outcome of a poll for the rules, and details for the log. A poll that was not sent counts as failed. */
function readOutcome(outcome: Outcome<Listed>): {
  readonly polled: PollOutcome;
  readonly detail: PollDetail | null;
} {
  switch (outcome.kind) {
    case "ok": {
      const { listing, partial } = outcome.value;
      const detail = partial === null ? null : { text: partial, status: null, problem: null };
      return { polled: { kind: "listed", listing }, detail };
    }
    case "failed": {
      const { reason, detail: text, status, problem = null } = outcome;
      return { polled: { kind: "failed", reason, status }, detail: { text, status, problem } };
    }
    case "not_sent": {
      const detail = {
        text: "rate limited: no request could be sent in time",
        status: null,
        problem: null,
      };
      return { polled: { kind: "failed", reason: outcome.reason }, detail };
    }
    case "backing_off":
      return { polled: outcome, detail: null };
  }
}
