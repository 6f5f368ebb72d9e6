import { Counter, Histogram } from "prom-client";
import type { Registry } from "prom-client";
import type { Verdict } from "../alerts/judge.ts";
import type { FailureReason, Target } from "../fleet/model.ts";
import type { WatchedView } from "../alerts/watched-view.ts";
import { TargetCounts } from "./target-counts.ts";

/** Counts polls and what they show, by target where that is needed. */
export function createPollMetrics(registry: Registry, targets: readonly WatchedView[]) {
  const registers = [registry];
  const counts = new Map(
    targets.map(({ target, state }) => [
      target,
      new TargetCounts(state.snapshot.tallies.names.keys()),
    ]),
  );

  const duration = new Histogram({
    name: "sandwatch_poll_duration_seconds",
    help: "Duration of polls, with retries and the wait for the rate limit.",
    labelNames: ["region"],
    buckets: [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30],
    registers,
  });
  for (const { target } of targets) duration.zero({ region: target.region });

  const commitDuration = new Histogram({
    name: "sandwatch_store_commit_duration_seconds",
    help: "Duration of commits of polls, with the wait for others in the same transaction.",
    buckets: [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1, 5],
    registers,
  });

  const lost = new Counter({
    name: "sandwatch_store_commit_failures_total",
    help: "Polls whose result could not be stored.",
    registers,
  });

  const countsOf = (target: Target): TargetCounts => {
    const found = counts.get(target);
    if (!found) throw new RangeError("The target of a metric must be a watched one");
    return found;
  };

  return {
    countsOf,
    /**
     * A poll ended, before it is committed.
     *
     * @param durationMs null: nothing was sent
     */
    polled(target: Target, failure: FailureReason | null, durationMs: number | null): void {
      countsOf(target).countPoll(failure);
      if (durationMs !== null) duration.observe({ region: target.region }, durationMs / 1_000);
    },
    /** A poll was committed, and the target shows it. */
    committed({ target }: WatchedView, verdict: Verdict, durationMs: number): void {
      commitDuration.observe(durationMs / 1_000);
      countsOf(target).countVerdict(verdict);
    },
    lost: (): void => lost.inc(),
  };
}
