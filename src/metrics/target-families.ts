import { failureReasons, type Target, presences, statuses } from "../fleet/model.ts";
import type { WatchedView } from "../alerts/target-view.ts";
import { bucketBoundText, escapeLabelValue, type ExpositionSyntax } from "./exposition-text.ts";
import { countsOfName, dwellBounds, dwellsOf } from "./target-counts.ts";
import { observedSeconds, transitions } from "./target-counts.ts";
import type { SubjectCounts, TargetCounts } from "./target-counts.ts";

/**
 * A family with series for each target. Ten thousand targets have millions of them: the numbers are taken when
 * a scrape begins, and become lines only while they are sent.
 */
interface TargetFamily {
  /** The complete name; that of a counter ends in `_total`. */
  readonly name: string;
  readonly help: string;
  readonly type: "gauge" | "counter" | "histogram";
  /** The lines of one target. */
  readonly lines: (target: TakenTarget, name: string, syntax: ExpositionSyntax) => string;
}

/** A target at one moment. */
export function takeTarget(view: WatchedView, counts: TargetCounts) {
  const { target, polled, up, withheld, state } = view;
  const { progress, snapshot } = state;
  // Without braces.
  const labels = targetLabels(target);
  return { labels, target, polled, up, withheld, progress, snapshot, counts: counts.take() };
}
type TakenTarget = ReturnType<typeof takeTarget>;

export function targetLabels({ region, key }: Target): string {
  return `region="${escapeLabelValue(region)}",key="${escapeLabelValue(key)}"`;
}

/** Series with their labels behind those of the target. */
type Series = Iterable<readonly [labels: string, value: number]>;

function series(of: (target: TakenTarget) => Series): TargetFamily["lines"] {
  return (target, name) => {
    let text = "";
    for (const [labels, value] of of(target)) {
      text += `${name}{${target.labels}${labels}} ${value}\n`;
    }
    return text;
  };
}

/** In the order in which they are exposed. */
export const targetFamilies: readonly TargetFamily[] = [
  {
    name: "sandbox_servers",
    help: "Servers by name and status.",
    type: "gauge",
    lines: series(function* ({ withheld, snapshot }) {
      if (withheld) return;
      for (const { name, servers } of snapshot.tallies.names.values()) {
        const named = nameLabel(name);
        for (const each of statuses) yield [`${named},status="${each}"`, servers[each]];
      }
    }),
  },
  {
    name: "sandbox_sandboxes",
    help: "Sandboxes by status.",
    type: "gauge",
    lines: series(({ withheld, progress, snapshot }) =>
      withheld || progress.lastSuccessAtMs === null
        ? []
        : statuses.map((each) => [`,status="${each}"`, snapshot.tallies.sandboxes[each]]),
    ),
  },
  {
    name: "sandbox_server_status_seconds_total",
    help: "Observed server-seconds in a status; the rate is the time-weighted number of servers.",
    type: "counter",
    lines: series(function* ({ counts }) {
      for (const [number, name] of counts.names.entries()) {
        yield* secondsSeries(countsOfName(counts, number), nameLabel(name));
      }
    }),
  },
  {
    name: "sandbox_status_seconds_total",
    help: "Observed sandbox-seconds in a status; the rate is the time-weighted number of sandboxes.",
    type: "counter",
    lines: series(({ counts }) => secondsSeries(counts.sandboxes)),
  },
  {
    name: "sandbox_unobserved_seconds_total",
    help: "Seconds in which a target was not observed.",
    type: "counter",
    lines: series(({ counts }) => [["", counts.unobservedMs / 1_000]]),
  },
  {
    name: "sandbox_server_transitions_total",
    help: "Changes of servers; absent is the status before a server appears and after it is gone.",
    type: "counter",
    lines: series(function* ({ counts }) {
      for (const [number, name] of counts.names.entries()) {
        yield* transitionSeries(countsOfName(counts, number), nameLabel(name));
      }
    }),
  },
  {
    name: "sandbox_transitions_total",
    help: "Changes of sandboxes; absent is the status before a sandbox appears and after it is gone.",
    type: "counter",
    lines: series(({ counts }) => transitionSeries(counts.sandboxes)),
  },
  {
    name: "sandbox_server_status_duration_seconds",
    help: "Dwell times of servers in a status whose start and end were observed.",
    type: "histogram",
    lines({ labels: ofTarget, counts }, name, syntax) {
      let text = "";
      for (const status of statuses) {
        const labels = `${ofTarget},status="${status}"`;
        const { buckets, sum } = dwellsOf(counts, status);
        let count = 0;
        for (const [index, each] of buckets.entries()) {
          count += each;
          const bound = bucketBoundText(syntax, dwellBounds[index] ?? Infinity);
          text += `${name}_bucket{le="${bound}",${labels}} ${count}\n`;
        }
        text += `${name}_sum{${labels}} ${sum}\n${name}_count{${labels}} ${count}\n`;
      }
      return text;
    },
  },
  {
    name: "sandwatch_target_up",
    help: "Whether the last poll of a target succeeded and was stored.",
    type: "gauge",
    lines: series(({ polled, up }) => (polled ? [["", Number(up)]] : [])),
  },
  {
    name: "sandwatch_target_last_success_timestamp_seconds",
    help: "When a poll of a target last succeeded, in seconds since 1970; 0 if never.",
    type: "gauge",
    lines: series(({ progress }) => [["", (progress.lastSuccessAtMs ?? 0) / 1_000]]),
  },
  {
    name: "sandwatch_polls_total",
    help: "Polls, including failed polls and polls that the rate limit prevented.",
    type: "counter",
    lines: series(({ counts }) => [["", counts.polls]]),
  },
  {
    name: "sandwatch_poll_failures_total",
    help: "Failed polls, by reason.",
    type: "counter",
    lines: series(({ counts: { failures } }) =>
      failureReasons.map((reason) => [`,reason="${reason}"`, failures.get(reason) ?? 0]),
    ),
  },
];

/** @param labels in front of the status */
function* secondsSeries(counts: SubjectCounts, labels = ""): Series {
  for (const each of statuses) yield [`${labels},status="${each}"`, observedSeconds(counts, each)];
}

function* transitionSeries(counts: SubjectCounts, labels = ""): Series {
  for (const from of presences) {
    for (const to of presences) {
      const count = transitions(counts, from, to);
      // An alert on the increase into error must not miss the first one.
      if (count > 0 || (to === "error" && from !== "error")) {
        yield [`${labels},from="${from}",to="${to}"`, count];
      }
    }
  }
}

function nameLabel(name: string): string {
  return `,server_name="${escapeLabelValue(name)}"`;
}
