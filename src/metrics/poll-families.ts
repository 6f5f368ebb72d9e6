import { failureReasons } from "../core/model.ts";
import type { FailureReason, Target } from "../core/model.ts";
import type { WatchedView } from "../core/watched-view.ts";
import { targetLabels } from "./target-family.ts";
import type { TargetFamily } from "./target-family.ts";

/** What is counted of one target's polls. */
export interface PollCounts {
  polls: number;
  readonly failures: Map<FailureReason, number>;
}

/** In the order in which they are exposed. */
export function createPollFamilies(
  targets: readonly WatchedView[],
  counts: ReadonlyMap<Target, PollCounts>,
): readonly TargetFamily[] {
  const up = "sandwatch_target_up";
  const lastSuccess = "sandwatch_target_last_success_timestamp_seconds";
  const polls = "sandwatch_polls_total";
  const failures = "sandwatch_poll_failures_total";
  return [
    {
      name: up,
      help: "Whether the last poll of a target succeeded and was stored.",
      type: "gauge",
      take: () =>
        targets
          .filter(({ polled }) => polled)
          .map((view) => `${up}{${targetLabels(view.target)}} ${view.up ? 1 : 0}\n`),
    },
    {
      name: lastSuccess,
      help: "When a poll of a target last succeeded, in seconds since 1970; 0 if never.",
      type: "gauge",
      take: () =>
        targets.map(({ target, state }) => {
          const seconds = (state.progress.lastSuccessAtMs ?? 0) / 1_000;
          return `${lastSuccess}{${targetLabels(target)}} ${seconds}\n`;
        }),
    },
    {
      name: polls,
      help: "Polls, including failed polls and polls that the rate limit prevented.",
      type: "counter",
      take: () =>
        Array.from(
          counts,
          ([target, counted]) => `${polls}{${targetLabels(target)}} ${counted.polls}\n`,
        ),
    },
    {
      name: failures,
      help: "Failed polls, by reason.",
      type: "counter",
      take: () =>
        Array.from(counts, ([target, counted]) => {
          const start = `${failures}{${targetLabels(target)},reason="`;
          const lineOf = (reason: FailureReason): string =>
            `${start}${reason}"} ${counted.failures.get(reason) ?? 0}\n`;
          return failureReasons.map(lineOf).join("");
        }),
    },
  ];
}
