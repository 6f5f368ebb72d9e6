import { Counter, Histogram } from "prom-client";
import type { Registry } from "prom-client";
import type { FailureReason, Target } from "../core/model.ts";
import type { WatchedView } from "../core/watched-view.ts";
import { escapeLabelValue } from "./exposition-text.ts";
import { LabelledHistogram } from "./labelled-histogram.ts";
import { createPollFamilies } from "./poll-families.ts";
import type { PollCounts } from "./poll-families.ts";
import { keepForTargets } from "./target-family.ts";
import type { TargetFamily } from "./target-family.ts";

export interface TargetMetrics {
  readonly families: readonly TargetFamily[];
  /** @param durationMs null where nothing was sent */
  polled(target: Target, failure: FailureReason | null, durationMs: number | null): void;
  committed(durationMs: number): void;
  turnFailed(): void;
}

/** How the watching of the targets goes. */
export function createTargetMetrics(
  registry: Registry,
  targets: readonly WatchedView[],
): TargetMetrics {
  const registers = [registry];
  const counts = keepForTargets<PollCounts>(targets, () => ({ polls: 0, failures: new Map() }));

  const regions = [...new Set(targets.map(({ target }) => target.region))];
  const indexOf = new Map(regions.map((region, index) => [region, index]));
  const pollDuration = new LabelledHistogram({
    name: "sandwatch_poll_duration_seconds",
    help: "Duration of polls, with retries and the wait for the rate limit.",
    bounds: [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30],
    labels: regions.map((region) => `region="${escapeLabelValue(region)}"`),
  });

  const commitDuration = new Histogram({
    name: "sandwatch_store_commit_duration_seconds",
    help: "Duration of commits of polls, with the wait for others in the same transaction.",
    buckets: [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1, 5],
    registers,
  });

  const commitFailures = new Counter({
    name: "sandwatch_store_commit_failures_total",
    help: "Polls whose result could not be stored.",
    registers,
  });

  return {
    families: [...createPollFamilies(targets, counts.all), pollDuration.family],
    polled(target, failure, durationMs) {
      const counted = counts.of(target);
      counted.polls += 1;
      if (failure !== null) {
        counted.failures.set(failure, (counted.failures.get(failure) ?? 0) + 1);
      }
      if (durationMs === null) return;
      pollDuration.observe(indexOf.get(target.region) ?? 0, durationMs / 1_000);
    },
    committed: (durationMs) => commitDuration.observe(durationMs / 1_000),
    turnFailed: () => commitFailures.inc(),
  };
}
