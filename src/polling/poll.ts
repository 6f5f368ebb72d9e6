import { isQuiet, judgeInSlices } from "../alerts/judge.ts";
import type { JudgeOptions, PollOutcome, Verdict } from "../alerts/judge.ts";
import type { Drift } from "../fleet/drift.ts";
import { targetName } from "../fleet/model.ts";
import type { Target } from "../fleet/model.ts";
import type { Schedule } from "../fleet/schedule.ts";
import type { CurrentSuppressions } from "../alerts/silence.ts";
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
import { logListing, logPoll, noListing } from "./poll-log.ts";
import { longestBackOffMs } from "./runner.ts";
import type { PoolWatch } from "./watched-pools.ts";
import type { RegionWatch } from "./region-watch.ts";
import type { Outcome, Unit } from "./runner.ts";
import type { WatchedTarget } from "./watched-target.ts";

export type Listed = Extract<CallResult<TakenListing>, { readonly kind: "ok" }>;

/** What one poll means, and what it says beyond that. */
export interface PollDecision {
  readonly verdict: Verdict;
  /** What it was judged by. */
  readonly polled: PollOutcome;
  readonly options: JudgeOptions;
  readonly detail: PollDetail | null;
}

export interface TargetUnitsDeps {
  readonly apiKeys: ReadonlyMap<string, Secret>;
  readonly schedule: Schedule;
  readonly service: Pick<ServiceClient, "listSandboxes">;
  readonly judge: Omit<JudgeOptions, "suppressions">;
  readonly suppressions: CurrentSuppressions;
  readonly pools: PoolWatch;
  readonly regions: Pick<RegionWatch, "down" | "wake">;
  readonly recordDrift: (drift: Drift) => void;
  readonly store: Pick<Store, "commitPoll">;
  readonly commits: Pick<CommitLoop, "submit">;
  readonly metrics: Pick<Metrics["polls"], "polled" | "committed" | "lost">;
  readonly log: Logger;
  readonly clock: Clock;
}

/** The targets as the runner polls them. One whose key is not configured is not polled. */
export function createTargetUnits(
  targets: readonly WatchedTarget[],
  deps: TargetUnitsDeps,
): readonly Unit<Listed, PollDecision>[] {
  const { service, judge, suppressions, pools, regions, recordDrift } = deps;
  const { store, commits, metrics, log, clock, schedule } = deps;

  return targets.flatMap((watched): Unit<Listed, PollDecision>[] => {
    const { id, target } = watched;
    const { region, key } = target;
    const name = targetName(target);
    const apiKey = deps.apiKeys.get(key);
    if (!apiKey) return [];
    let logged = noListing;
    /** A silence that was added while a large listing was judged suppresses what is not committed yet. */
    const verdictNow = async ({ verdict, polled, options }: PollDecision): Promise<Verdict> => {
      const current = suppressions.at(clock.now().utcMs);
      const { regionsDown, acknowledgedBy } = options.suppressions;
      if (current.acknowledgedBy === acknowledgedBy) return verdict;
      const by = { ...options, suppressions: { ...current, regionsDown } };
      return runInSlices(judgeInSlices(watched.state, polled, verdict.at, by));
    };

    const unit: Unit<Listed, PollDecision> = {
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
        recordDrift({ region, operation: "list_sandboxes", deviations });
        return result;
      },

      async decide(outcome, { startedMs, endedMs, deadlineMs, isNewlyRefused }) {
        if (isNewlyRefused) logRefusal(log, target, deadlineMs - startedMs);
        const { polled, detail } = readOutcome(outcome);
        if (polled.kind !== "backing_off") {
          const reason = polled.kind === "failed" ? polled.reason : null;
          metrics.polled(watched, reason, outcome.kind === "not_sent" ? null : endedMs - startedMs);
        }
        if (outcome.kind === "ok") logged = logListing(log, target, outcome.value, logged);
        const at = clock.now();
        const regionsDown = regions.down();
        const options = { ...judge, suppressions: { ...suppressions.at(at.utcMs), regionsDown } };
        const verdict = await runInSlices(judgeInSlices(watched.state, polled, at, options));
        return { verdict, polled, options, detail };
      },

      commit: (decision) =>
        commits.submit(async () => {
          const { lostPolls } = watched;
          const detail = decision.detail?.text ?? null;
          const verdict = await verdictNow(decision);
          const { at, snapshot, progress, reachability, incidents } = verdict;
          const startedMs = clock.now().monotonicMs;
          return {
            target,
            incidents,
            atMs: at.utcMs,
            commit: () => store.commitPoll(id, verdict),
            accept() {
              const tookMs = clock.now().monotonicMs - startedMs;
              watched.accept(verdict, decision.detail);
              metrics.committed(watched, verdict, isQuiet(verdict) ? null : tookMs);
            },
            follow() {
              if (progress.failuresInARow > 0 || reachability !== null) regions.wake(region);
              // Servers and the pool that contains them can be one message.
              return pools.judge(id, { target, at, snapshot, whole: isFullyObserved(progress) });
            },
            log: () => logPoll(log, target, verdict, { detail, lostPolls }),
          };
        }),

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
