import { Counter, Gauge, Histogram } from "prom-client";
import type { Registry } from "prom-client";
import type { Verdict } from "../core/judge.ts";
import { statuses } from "../core/model.ts";
import type { Status, Target } from "../core/model.ts";
import { eachStatus, noneByStatus } from "../core/snapshot/tallies.ts";
import { batches, paced } from "../platform/paced.ts";
import type { WatchedView } from "../core/watched-view.ts";
import { presences, TransitionCounts } from "./transition-counts.ts";

const changesAtOnce = 5_000;

export interface SandboxMetrics {
  /** Counts what a committed verdict tells; `watched` already holds it. */
  committed(watched: WatchedView, verdict: Verdict): Promise<void>;
}

const minutes = 60;
const hours = 3_600;

/** The aggregates over a target's servers: few series, whatever the number of servers. */
export function createSandboxMetrics(
  registry: Registry,
  targets: readonly WatchedView[],
): SandboxMetrics {
  const registers = [registry];

  new Gauge({
    name: "sandbox_servers",
    help: "Servers in a status, by name.",
    labelNames: ["region", "key", "server_name", "status"],
    registers,
    collect() {
      this.reset();
      for (const { target, state, withheld } of targets) {
        if (withheld) continue;
        for (const { name, servers } of state.snapshot.tallies()) {
          for (const [status, count] of eachStatus(servers)) {
            this.set({ ...target, server_name: name, status }, count);
          }
        }
      }
    },
  });

  new Gauge({
    name: "sandbox_sandboxes",
    help: "Sandboxes in a status.",
    labelNames: ["region", "key", "status"],
    registers,
    collect() {
      this.reset();
      for (const { target, state, withheld } of targets) {
        if (withheld || state.progress.lastSuccessAtMs === null) continue;
        for (const [status, count] of eachStatus(state.snapshot.sandboxTally)) {
          this.set({ ...target, status }, count);
        }
      }
    },
  });

  const bookedMs = new Map<Target, Map<string, Record<Status, number>>>();
  new Counter({
    name: "sandbox_server_status_seconds_total",
    help: "Server-seconds observed in a status: the rate is the time-weighted number of servers in it.",
    labelNames: ["region", "key", "server_name", "status"],
    registers,
    // Every poll books time for each name: added up here, and counted when it is looked at.
    collect() {
      this.reset();
      for (const [target, names] of bookedMs) {
        for (const [name, booked] of names) {
          for (const status of statuses) {
            this.inc({ ...target, server_name: name, status }, booked[status] / 1_000);
          }
        }
      }
    },
  });

  const unobservedSeconds = new Counter({
    name: "sandbox_unobserved_seconds_total",
    help: "Seconds in which a target was not watched, its servers' time being booked to no status.",
    labelNames: ["region", "key"],
    registers,
  });

  const transitions = new Counter({
    name: "sandbox_server_transitions_total",
    help: "Changes of servers from one status to another; absent is before they appear and after they are gone.",
    labelNames: ["region", "key", "server_name", "from", "to"],
    registers,
  });

  const stays = new Histogram({
    name: "sandbox_server_status_duration_seconds",
    help: "How long servers stayed in a status, of stays whose start and end were both watched.",
    labelNames: ["region", "key", "status"],
    buckets: [
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
    ],
    registers,
  });

  for (const { target } of targets) {
    unobservedSeconds.inc({ ...target }, 0);
    for (const status of statuses) stays.zero({ ...target, status });
  }

  // The names come from the service, so their series start with the first server of that name.
  const startSeries = (target: Target, serverName: string): Record<Status, number> => {
    const names = bookedMs.get(target) ?? new Map<string, Record<Status, number>>();
    const known = names.get(serverName);
    if (known) return known;
    const booked = noneByStatus();
    bookedMs.set(target, names.set(serverName, booked));
    const labels = { ...target, server_name: serverName };
    // Whoever alerts on the increase into error must not miss the first one.
    for (const from of presences) {
      if (from !== "error") transitions.inc({ ...labels, from, to: "error" }, 0);
    }
    return booked;
  };
  for (const { target, state } of targets) {
    for (const { name } of state.snapshot.tallies()) startSeries(target, name);
  }

  return {
    async committed({ target, state }, { booking, changes }) {
      for (const { serverName, status, ms } of booking.servers) {
        startSeries(target, serverName)[status] += ms;
      }
      unobservedSeconds.inc({ ...target }, booking.unobservedMs / 1_000);
      const counts = new TransitionCounts();
      for await (const some of paced(batches(changes, changesAtOnce))) {
        for (const { serverName, from, to, stayMs } of some) {
          counts.add(state.snapshot.aggregateName(serverName), from, to);
          if (stayMs !== null && from !== "absent") {
            stays.observe({ ...target, status: from }, stayMs / 1_000);
          }
        }
      }
      for (const { name, from, to, count } of counts) {
        startSeries(target, name);
        transitions.inc({ ...target, server_name: name, from, to }, count);
      }
    },
  };
}
