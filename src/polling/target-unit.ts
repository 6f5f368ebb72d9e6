import { judgeInSlices } from "../alerts/judge.ts";
import type { JudgeOptions, PollOutcome, Verdict } from "../alerts/judge.ts";
import { targetName } from "../fleet/model.ts";
import type { PoolVerdict, PoolWatch } from "../alerts/pool-watch.ts";
import type { Schedule } from "../fleet/schedule.ts";
import { isFullyObserved } from "../alerts/target-state.ts";
import type { PollDetail } from "../alerts/watched-view.ts";
import type { Metrics } from "../metrics/metrics.ts";
import type { Clock } from "../lib/clock.ts";
import type { Logger } from "../lib/logger.ts";
import { runInSlices } from "../lib/run-in-slices.ts";
import type { Secret } from "../lib/secret.ts";
import type { CallResult, ServiceClient, TakenListing } from "../service/client.ts";
import { logListing, noListing } from "./listing-log.ts";
import { logLostPoll, logPoll, logRefusal } from "./poll-log.ts";
import type { Outcome, Unit } from "./runner.ts";
import type { WatchedTarget } from "./watched-target.ts";

type Listed = Extract<CallResult<TakenListing>, { readonly kind: "ok" }>;

/** What one poll means, and what it says beyond that. */
interface Decision {
  readonly verdict: Verdict;
  readonly detail: PollDetail | null;
}

export type TargetUnit = Unit<Listed, Decision>;

export interface TargetUnitsDeps {
  readonly apiKeys: ReadonlyMap<string, Secret>;
  readonly schedule: Schedule;
  readonly service: Pick<ServiceClient, "listSandboxes">;
  readonly judge: JudgeOptions;
  readonly pools: PoolWatch;
  readonly store: { commitPoll(targetId: number, verdict: Verdict): Promise<void> };
  /** Sends what a commit put into the outbox. */
  readonly notifier: { wake(causedAtMs: number): void };
  readonly metrics: Pick<Metrics["polls"], "polled" | "committed" | "lost">;
  readonly log: Logger;
  readonly clock: Clock;
}

const nothingSent = "nothing was sent";

/** The targets as the runner polls them. One whose key is not configured is not polled. */
export function createTargetUnits(
  targets: readonly WatchedTarget[],
  deps: TargetUnitsDeps,
): readonly TargetUnit[] {
  const { service, judge, pools, notifier, metrics, log, clock, schedule } = deps;
  const commitWithPools = createPoolCommits(deps);

  return targets.flatMap((watched): TargetUnit[] => {
    const { id, target } = watched;
    const apiKey = deps.apiKeys.get(target.key);
    if (!apiKey) return [];
    let logged = noListing;

    const unit: TargetUnit = {
      name: targetName(target),
      target,
      apiKey,
      schedule,
      call: (attempt) =>
        service.listSandboxes({
          ...attempt,
          region: target.region,
          apiKey,
          before: watched.state.snapshot,
          // The texts of different targets are parsed again at different polls, whenever they were first polled.
          poll: id + watched.state.progress.observed.polls,
        }),

      async decide(outcome, { startedMs, endedMs, deadlineMs, isNewlyRefused }) {
        if (isNewlyRefused) logRefusal(log, target, deadlineMs - startedMs);
        if (outcome.kind === "ok") {
          metrics.polled(target, null, endedMs - startedMs);
          logged = logListing(log, target, outcome.value, logged);
        } else if (outcome.kind === "failed") {
          metrics.polled(target, outcome.reason, endedMs - startedMs);
        } else if (outcome.kind === "not_sent") metrics.polled(target, outcome.reason, null);
        const judging = judgeInSlices(watched.state, toPollOutcome(outcome), clock.now(), judge);
        return { verdict: await runInSlices(judging), detail: toDetail(outcome) };
      },

      async commit({ verdict, detail }) {
        const { lostPolls } = watched;
        const startedMs = clock.now().monotonicMs;
        const committed = await commitWithPools(watched, verdict);
        const tookMs = clock.now().monotonicMs - startedMs;
        watched.accept(committed, detail);
        if (hasMessages(committed)) notifier.wake(committed.at.utcMs);
        metrics.committed(watched, committed, tookMs);
        await logPoll(log, target, committed, { detail: detail?.text ?? null, lostPolls });
      },

      lose(error) {
        watched.losePoll();
        pools.lose(target);
        metrics.lost();
        logLostPoll(log, target, watched.lostPolls, error);
      },

      noteGap() {
        watched.noteGap();
        pools.lose(target);
      },
    };
    return [unit];
  });
}

/**
 * Commits a poll together with what it means for the pools that its target adds to, and gives the whole
 * verdict. Polls of several targets concern the same pools: those that change an incident of a pool are
 * committed one after the other, or two of them could open the same incident.
 */
function createPoolCommits({
  pools,
  judge,
  store,
}: Pick<TargetUnitsDeps, "pools" | "judge" | "store">) {
  let lastChange: Promise<unknown> = Promise.resolve();

  return async ({ id, target }: WatchedTarget, verdict: Verdict): Promise<Verdict> => {
    if (!pools.concerns(target)) {
      await store.commitPoll(id, verdict);
      return verdict;
    }
    const { at, snapshot, progress } = verdict;
    const judgePools = (): PoolVerdict =>
      pools.judge({ target, at, snapshot, whole: isFullyObserved(progress) }, judge);
    const commitBoth = async (judged: PoolVerdict): Promise<Verdict> => {
      const both = { ...verdict, pools: judged.outcome };
      await store.commitPoll(id, both);
      judged.accept();
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

/** Where no request could be sent, nothing was observed, like at a failed poll. */
function toPollOutcome(outcome: Outcome<Listed>): PollOutcome {
  switch (outcome.kind) {
    case "ok":
      return { kind: "listed", listing: outcome.value.listing };
    case "failed":
    case "not_sent":
      return { kind: "failed", reason: outcome.reason };
    case "backing_off":
      return outcome;
  }
}

/** What there is to say of a poll beyond what is stored of it. */
function toDetail(outcome: Outcome<Listed>): PollDetail | null {
  switch (outcome.kind) {
    case "ok": {
      const { partial } = outcome.value;
      return partial === null ? null : { text: partial, status: null, problem: null };
    }
    case "failed":
      return { text: outcome.detail, status: outcome.status, problem: outcome.problem ?? null };
    case "not_sent":
      return { text: nothingSent, status: null, problem: null };
    case "backing_off":
      return null;
  }
}

function hasMessages({ incidents, pools }: Verdict): boolean {
  return incidents.outbox.length > 0 || (pools !== null && pools.incidents.outbox.length > 0);
}
