import { Gauge } from "prom-client";
import type { Registry } from "prom-client";
import type { Incident } from "../core/incident.ts";
import type { IncidentPhase } from "../core/incident-phase.ts";
import type { Severity } from "../core/rule.ts";
import type { WatchedView } from "../core/watched-view.ts";

export const incidentsFamily = "sandwatch_incidents";

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
    name: incidentsFamily,
    help: "Open incidents of a rule, pending or firing.",
    labelNames: ["rule", "severity", "state"],
    registers: [registry],
    collect() {
      this.reset();
      for (const { name, severity } of rules) {
        this.set({ rule: name, severity, state: "pending" }, 0);
        this.set({ rule: name, severity, state: "firing" }, 0);
      }
      const incidents = [...targets.map(({ state }) => state.incidents), untargeted];
      for (const { count, ...labels } of countOpen(incidents)) this.set(labels, count);
    },
  });
  return {
    showUntargeted(incidents) {
      untargeted = incidents;
    },
  };
}

interface OpenCount {
  readonly rule: string;
  readonly severity: Severity;
  readonly state: IncidentPhase["name"];
  count: number;
}

/** There can be many thousands, and each series of a gauge takes a while to be found by its labels. */
function countOpen(
  all: readonly (ReadonlyMap<string, Incident> | readonly Incident[])[],
): readonly OpenCount[] {
  const counts: OpenCount[] = [];
  let last: OpenCount | undefined;
  const count = ({ rule, severity, phase: { name: state } }: Incident): void => {
    const isSame = (each: OpenCount): boolean =>
      each.rule === rule && each.severity === severity && each.state === state;
    if (!last || !isSame(last)) last = counts.find(isSame);
    if (!last) counts.push((last = { rule, severity, state, count: 0 }));
    last.count++;
  };
  for (const incidents of all) incidents.forEach(count);
  return counts;
}
