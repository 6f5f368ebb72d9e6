import { judgeInSlices } from "../alerts/judge.ts";
import type { JudgeOptions, PollOutcome, Verdict } from "../alerts/judge.ts";
import { targetName } from "../fleet/model.ts";
import type { Target } from "../fleet/model.ts";
import type { PoolVerdict, PoolWatch } from "../alerts/pool-watch.ts";
import type { Schedule } from "../fleet/schedule.ts";
import type { Suppressions } from "../alerts/silence.ts";
import { isFullyObserved } from "../alerts/target-state.ts";
import type { PollDetail } from "../alerts/target-view.ts";
import type { Metrics } from "../metrics/metrics.ts";
import type { Clock } from "../lib/clock.ts";
import type { Logger } from "../lib/logger.ts";
import { runInSlices } from "../lib/run-in-slices.ts";
import type { Secret } from "../lib/secret.ts";
import type { CallResult, ServiceClient, TakenListing } from "../service/client.ts";
import { logListing, logPoll, noListing } from "./poll-log.ts";
import { longestBackOffMs } from "./runner.ts";
import type { Outcome, Unit } from "./runner.ts";
import type { WatchedTarget } from "./watched-target.ts";

type Listed = Extract<CallResult<TakenListing>, { readonly kind: "ok" }>;

/** What one poll means, and what it says beyond that. */
interface Decision {
  readonly verdict: Verdict;
  /** What it was judged by. */
  readonly options: JudgeOptions;
  readonly detail: PollDetail | null;
}

export interface TargetUnitsDeps {
  readonly apiKeys: ReadonlyMap<string, Secret>;
  readonly schedule: Schedule;
  readonly service: Pick<ServiceClient, "listSandboxes">;
  readonly judge: Omit<JudgeOptions, "suppressions">;
  readonly suppressions: { at(atMs: number): Suppressions };
  readonly pools: PoolWatch;
  readonly store: { commitPoll(targetId: number, verdict: Verdict): Promise<void> };
  /** Sends what a commit put into the outbox. */
  readonly notifier: { wake(causedAtMs: number): void };
  readonly metrics: Pick<Metrics["polls"], "polled" | "committed" | "lost">;
  readonly log: Logger;
  readonly clock: Clock;
}

/** The targets as the runner polls them. One whose key is not configured is not polled. */
export function createTargetUnits(
  targets: readonly WatchedTarget[],
  deps: TargetUnitsDeps,
): readonly Unit<Listed, Decision>[] {
  const { service, judge, suppressions, pools, notifier, metrics, log, clock, schedule } = deps;
  const commitWithPools = createPoolCommits(deps);

  return targets.flatMap((watched): Unit<Listed, Decision>[] => {
    const { id, target } = watched;
    const { region, key } = target;
    const name = targetName(target);
    const apiKey = deps.apiKeys.get(key);
    if (!apiKey) return [];
    let logged = noListing;

    const unit: Unit<Listed, Decision> = {
      name,
      target,
      schedule,
      call(attempt) {
        const { snapshot: before, progress } = watched.state;
        // The texts of different targets are parsed again at different polls.
        const poll = id + progress.observed.polls;
        return service.listSandboxes({ ...attempt, region, apiKey, before, poll });
      },

      async decide(outcome, { startedMs, endedMs, deadlineMs, isNewlyRefused }) {
        if (isNewlyRefused) logRefusal(log, target, deadlineMs - startedMs);
        const { polled, detail } = readOutcome(outcome);
        if (polled.kind !== "backing_off") {
          const reason = polled.kind === "failed" ? polled.reason : null;
          metrics.polled(target, reason, outcome.kind === "not_sent" ? null : endedMs - startedMs);
        }
        if (outcome.kind === "ok") logged = logListing(log, target, outcome.value, logged);
        const at = clock.now();
        const options = { ...judge, suppressions: suppressions.at(at.utcMs) };
        const verdict = await runInSlices(judgeInSlices(watched.state, polled, at, options));
        return { verdict, options, detail };
      },

      async commit({ verdict, options, detail }) {
        const { lostPolls } = watched;
        const startedMs = clock.now().monotonicMs;
        const committed = await commitWithPools(watched, verdict, options);
        const tookMs = clock.now().monotonicMs - startedMs;
        watched.accept(committed, detail);
        if (hasMessages(committed)) notifier.wake(committed.at.utcMs);
        metrics.committed(watched, committed, tookMs);
        await logPoll(log, target, committed, { detail: detail?.text ?? null, lostPolls });
      },

      lose(err) {
        watched.losePoll();
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

/**
 * Commits a poll together with what it means for the pools that its target adds to, and gives the whole
 * verdict. Polls of several targets concern the same pools: those that change an incident of a pool are
 * committed one after the other, or two of them could open the same incident.
 */
function createPoolCommits({ pools, store }: Pick<TargetUnitsDeps, "pools" | "store">) {
  let lastChange: Promise<unknown> = Promise.resolve();

  return async (
    { id, target }: WatchedTarget,
    verdict: Verdict,
    options: JudgeOptions,
  ): Promise<Verdict> => {
    if (!pools.concerns(target)) {
      await store.commitPoll(id, verdict);
      return verdict;
    }
    const { at, snapshot, progress } = verdict;
    const judgePools = (): PoolVerdict =>
      pools.judge({ target, at, snapshot, whole: isFullyObserved(progress) }, options);
    const commitBoth = async (judged: PoolVerdict): Promise<Verdict> => {
      const both = { ...verdict, pools: judged.outcome };
      await store.commitPoll(id, both);
      pools.accept(judged);
      return both;
    };
    const judged = judgePools();
    const { written, dropped } = judged.outcome.incidents;
    if (written.length + dropped.length === 0) return commitBoth(judged);
    // Judged again after the wait: another poll may have changed the same incidents.
    const committing = lastChange.then(() => commitBoth(judgePools()));
    lastChange = committing.catch(() => {});
    return committing;
  };
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
      return { polled: { kind: "failed", reason }, detail: { text, status, problem } };
    }
    case "not_sent": {
      const detail = { text: "nothing was sent", status: null, problem: null };
      return { polled: { kind: "failed", reason: outcome.reason }, detail };
    }
    case "backing_off":
      return { polled: outcome, detail: null };
  }
}

function hasMessages({ incidents, pools }: Verdict): boolean {
  return incidents.outbox.length > 0 || (pools !== null && pools.incidents.outbox.length > 0);
}
