import type { Registry } from "prom-client";
import type { Incident } from "../alerts/incident.ts";
import type { IncidentPhase } from "../alerts/incident-phase.ts";
import type { Severity } from "../alerts/rule.ts";
import type { WatchedView } from "../alerts/watched-view.ts";
import { addGauge } from "./gauge.ts";

export interface IncidentMetricsOptions {
  readonly targets: readonly WatchedView[];
  /** They have series also without incidents. */
  readonly rules: readonly { readonly name: string; readonly severity: Severity }[];
  /** The open incidents of pools, probes and receivers. */
  readonly readUntargeted: () => Promise<readonly Incident[]>;
}

export function addIncidentGauge(
  registry: Registry,
  { targets, rules, readUntargeted }: IncidentMetricsOptions,
): void {
  addGauge(registry, {
    name: "sandwatch_incidents",
    help: "Open incidents of a rule, pending or firing.",
    labels: ["rule", "severity", "state"],
    async read() {
      const counts = new OpenCounts();
      for (const { name: rule, severity } of rules) {
        for (const state of ["pending", "firing"] as const)
          counts.add({ rule, severity, state }, 0);
      }
      // Those of targets as of the moment when the scrape begins: nothing is awaited before.
      for (const { state } of targets)
        state.incidents.forEach((incident) => counts.count(incident));
      for (const incident of await readUntargeted()) counts.count(incident);
      return counts.all.map(({ count, ...labels }) => [labels, count]);
    },
  });
}

interface Labels {
  readonly rule: string;
  readonly severity: Severity;
  readonly state: IncidentPhase["name"];
}

/** There can be many thousands, and each series of a gauge takes a while to be found by its labels. */
class OpenCounts {
  readonly all: (Labels & { count: number })[] = [];
  private last: (Labels & { count: number }) | undefined;

  count({ rule, severity, phase: { name: state } }: Incident): void {
    this.add({ rule, severity, state }, 1);
  }

  add({ rule, severity, state }: Labels, more: number): void {
    const isSame = (each: Labels): boolean =>
      each.rule === rule && each.severity === severity && each.state === state;
    if (!this.last || !isSame(this.last)) this.last = this.all.find(isSame);
    if (!this.last) this.all.push((this.last = { rule, severity, state, count: 0 }));
    this.last.count += more;
  }
}
