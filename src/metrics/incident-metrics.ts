import { Gauge } from "prom-client";
import type { Registry } from "prom-client";
import type { Rule } from "../core/rule.ts";
import type { WatchedView } from "../core/watched-view.ts";

/** The open incidents of each rule. */
export function createIncidentMetrics(
  registry: Registry,
  targets: readonly WatchedView[],
  rules: readonly Rule[],
): void {
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
      for (const { state } of targets) {
        for (const { rule, severity, phase } of state.incidents.values()) {
          this.inc({ rule, severity, state: phase.name });
        }
      }
    },
  });
}
