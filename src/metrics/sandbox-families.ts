import type { Target } from "../core/model.ts";
import type { WatchedView } from "../core/watched-view.ts";
import { presences, statuses } from "../fleet/status.ts";
import { histogramText } from "./bucket-counts.ts";
import type { BucketCounts } from "./bucket-counts.ts";
import { escapeLabelValue } from "./exposition-text.ts";
import { observedMsOf, transitionsOf } from "./name-counts.ts";
import type { NameCounts, TakenNumbers } from "./name-counts.ts";
import { targetLabels } from "./target-family.ts";
import type { TargetFamily } from "./target-family.ts";

/** What is counted of one target's servers. */
export interface SandboxCounts {
  readonly byName: NameCounts;
  /** A histogram for each status, in seconds. */
  readonly dwells: BucketCounts;
  unobservedMs: number;
}

const minutes = 60;
const hours = 3_600;

export const dwellBounds: readonly number[] = [
  10,
  30,
  minutes,
  5 * minutes,
  15 * minutes,
  hours,
  4 * hours,
  12 * hours,
  24 * hours,
  168 * hours,
];

/** In the order in which they are exposed. */
export function createSandboxFamilies(
  targets: readonly WatchedView[],
  counts: ReadonlyMap<Target, SandboxCounts>,
): readonly TargetFamily[] {
  return [
    serversFamily(targets),
    sandboxesFamily(targets),
    secondsFamily(counts),
    unobservedFamily(counts),
    transitionsFamily(counts),
    dwellsFamily(counts),
  ];
}

function serversFamily(targets: readonly WatchedView[]): TargetFamily {
  const name = "sandbox_servers";
  const textOf = (labels: string, { snapshot }: WatchedView["state"]): string => {
    let text = "";
    for (const tally of snapshot.tallies.names.values()) {
      const start = `${name}{${labels},server_name="${escapeLabelValue(tally.name)}",status="`;
      for (const status of statuses) text += `${start}${status}"} ${tally.servers[status]}\n`;
    }
    return text;
  };
  return {
    name,
    help: "Servers by name and status.",
    type: "gauge",
    take: () => {
      const shown = targets.filter(({ withheld }) => !withheld).map(takeState);
      return lazily(shown, ({ target, state }) => textOf(targetLabels(target), state));
    },
  };
}

function sandboxesFamily(targets: readonly WatchedView[]): TargetFamily {
  const name = "sandbox_sandboxes";
  return {
    name,
    help: "Sandboxes by status.",
    type: "gauge",
    take() {
      const isShown = ({ state, withheld }: WatchedView): boolean =>
        !withheld && state.progress.lastSuccessAtMs !== null;
      return lazily(targets.filter(isShown).map(takeState), ({ target, state }) => {
        const start = `${name}{${targetLabels(target)},status="`;
        const { sandboxes } = state.snapshot.tallies;
        return statuses.map((status) => `${start}${status}"} ${sandboxes[status]}\n`).join("");
      });
    },
  };
}

function secondsFamily(counts: ReadonlyMap<Target, SandboxCounts>): TargetFamily {
  const name = "sandbox_server_status_seconds_total";
  const textOf = (labels: string, taken: TakenNumbers): string => {
    let text = "";
    for (const [number, serverName] of taken.names.entries()) {
      const start = `${name}{${labels},server_name="${escapeLabelValue(serverName)}",status="`;
      for (const [index, status] of statuses.entries()) {
        text += `${start}${status}"} ${observedMsOf(taken, number, index) / 1_000}\n`;
      }
    }
    return text;
  };
  return {
    name,
    help: "Observed server-seconds in a status; the rate is the time-weighted number of servers.",
    type: "counter",
    take: () => {
      const taken = Array.from(
        counts,
        ([target, { byName }]) => [target, byName.takeObservedMs()] as const,
      );
      return lazily(taken, ([target, observed]) => textOf(targetLabels(target), observed));
    },
  };
}

function unobservedFamily(counts: ReadonlyMap<Target, SandboxCounts>): TargetFamily {
  const name = "sandbox_unobserved_seconds_total";
  return {
    name,
    help: "Seconds in which a target was not observed.",
    type: "counter",
    take() {
      const taken = Array.from(
        counts,
        ([target, { unobservedMs }]) => [target, unobservedMs] as const,
      );
      return lazily(taken, ([target, ms]) => `${name}{${targetLabels(target)}} ${ms / 1_000}\n`);
    },
  };
}

function transitionsFamily(counts: ReadonlyMap<Target, SandboxCounts>): TargetFamily {
  const name = "sandbox_server_transitions_total";
  const textOf = (labels: string, taken: TakenNumbers): string => {
    let text = "";
    for (const [number, serverName] of taken.names.entries()) {
      const start = `${name}{${labels},server_name="${escapeLabelValue(serverName)}",from="`;
      for (const from of presences) {
        for (const to of presences) {
          const count = transitionsOf(taken, number, from, to);
          // Whoever alerts on the increase into error must not miss the first one.
          const isAwaited = to === "error" && from !== "error";
          if (count > 0 || isAwaited) text += `${start}${from}",to="${to}"} ${count}\n`;
        }
      }
    }
    return text;
  };
  return {
    name,
    help: "Changes of servers; absent is the status before a server appears and after it is gone.",
    type: "counter",
    take: () => {
      const taken = Array.from(
        counts,
        ([target, { byName }]) => [target, byName.takeTransitions()] as const,
      );
      return lazily(taken, ([target, counted]) => textOf(targetLabels(target), counted));
    },
  };
}

function dwellsFamily(counts: ReadonlyMap<Target, SandboxCounts>): TargetFamily {
  const name = "sandbox_server_status_duration_seconds";
  return {
    name,
    help: "Dwell times of servers in a status whose start and end were observed.",
    type: "histogram",
    take(syntax) {
      const taken = Array.from(counts, ([target, { dwells }]) => [target, dwells.take()] as const);
      return lazily(taken, ([target, numbers]) => {
        const ofTarget = targetLabels(target);
        const textOf = (status: string, index: number): string => {
          const labels = `${ofTarget},status="${status}"`;
          return histogramText({ name, labels, bounds: dwellBounds, syntax }, numbers, index);
        };
        return statuses.map(textOf).join("");
      });
    },
  };
}

/** A view's state is the same object throughout: what it reads now is taken out of it. */
function takeState({ target, state }: WatchedView): Pick<WatchedView, "target" | "state"> {
  return { target, state: { ...state } };
}

function* lazily<Taken>(
  taken: readonly Taken[],
  textOf: (each: Taken) => string,
): Iterable<string> {
  for (const each of taken) yield textOf(each);
}
