import { Gauge } from "prom-client";
import type { Registry } from "prom-client";
import type { Incident } from "../core/incident.ts";
import type { Severity } from "../core/rule.ts";
import type { WatchedView } from "../core/watched-view.ts";

export interface IncidentMetrics {
  /** To be called before a scrape, with the open incidents that belong to no target. */
  showUntargeted(incidents: readonly Incident[]): void;
}

/** What there is of a rule although it has no incident. */
export interface NamedRule {
  readonly name: string;
  readonly severity: Severity;
}

/** The open incidents of each rule. */
export function createIncidentMetrics(
  registry: Registry,
  targets: readonly WatchedView[],
  rules: readonly NamedRule[],
): IncidentMetrics {
  let untargeted: readonly Incident[] = [];
  new Gauge({
    name: "sandwatch_incidents",
    help: "Open incidents of a rule: pending ones do not hold for long enough yet.",
    labelNames: ["rule", "severity", "state"],
    registers: [registry],
    collect() {
      this.reset();
      for (const { name, severity } of rules) {
        this.set({ rule: name, severity, state: "pending" }, 0);
        this.set({ rule: name, severity, state: "firing" }, 0);
      }
      const count = ({ rule, severity, phase }: Incident): void =>
        this.inc({ rule, severity, state: phase.name });
      for (const { state } of targets) state.incidents.forEach(count);
      untargeted.forEach(count);
    },
  });
  return {
    showUntargeted(incidents) {
      untargeted = incidents;
    },
  };
}
