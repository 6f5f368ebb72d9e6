import { Counter, Gauge, Histogram } from "prom-client";
import type { Registry } from "prom-client";
import { failureReasons } from "../core/model.ts";
import type { FailureReason, Target } from "../core/model.ts";
import type { WatchedView } from "../core/watched-view.ts";

export interface TargetMetrics {
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

  new Gauge({
    name: "sandwatch_target_up",
    help: "Whether the last poll of a target was accepted, and kept.",
    labelNames: ["region", "key"],
    registers,
    collect() {
      for (const { target, up, polled } of targets) {
        if (polled) this.set({ ...target }, up ? 1 : 0);
      }
    },
  });

  new Gauge({
    name: "sandwatch_target_last_success_timestamp_seconds",
    help: "When a poll of a target was last accepted, in seconds since 1970; 0 when never.",
    labelNames: ["region", "key"],
    registers,
    collect() {
      for (const { target, state } of targets) {
        this.set({ ...target }, (state.progress.lastSuccessAtMs ?? 0) / 1_000);
      }
    },
  });

  const polls = new Counter({
    name: "sandwatch_polls_total",
    help: "Polls ended, well or badly, those included for which nothing could be sent.",
    labelNames: ["region", "key"],
    registers,
  });

  const failures = new Counter({
    name: "sandwatch_poll_failures_total",
    help: "Polls that gave no listing, by reason.",
    labelNames: ["region", "key", "reason"],
    registers,
  });

  const pollDuration = new Histogram({
    name: "sandwatch_poll_duration_seconds",
    help: "How long polls took, with retries and the wait for the key's rate limit.",
    labelNames: ["region"],
    buckets: [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30],
    registers,
  });

  const commitDuration = new Histogram({
    name: "sandwatch_store_commit_duration_seconds",
    help: "How long the store took to commit a poll.",
    buckets: [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1, 5],
    registers,
  });

  const commitFailures = new Counter({
    name: "sandwatch_store_commit_failures_total",
    help: "Polls that came to nothing because the store did not take them, or sandwatch itself failed.",
    registers,
  });

  for (const { target } of targets) {
    polls.inc({ ...target }, 0);
    for (const reason of failureReasons) failures.inc({ ...target, reason }, 0);
    pollDuration.zero({ region: target.region });
  }

  return {
    polled(target, failure, durationMs) {
      polls.inc({ ...target });
      if (failure !== null) failures.inc({ ...target, reason: failure });
      if (durationMs !== null) pollDuration.observe({ region: target.region }, durationMs / 1_000);
    },
    committed: (durationMs) => commitDuration.observe(durationMs / 1_000),
    turnFailed: () => commitFailures.inc(),
  };
}
