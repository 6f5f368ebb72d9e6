import { operations } from "../../src/fleet/model.ts";
import { deliveryFailureReasons } from "../../src/notify/receiver.ts";
import { refusalReasons } from "../../src/web/refusals.ts";
import { eventfulFamilies } from "../metrics/exposition.ts";
import { checkPromql } from "./promql.ts";
import type { CheckedPromql, KnownLabels, KnownSeries } from "./promql.ts";
import { readRuleGroups } from "./rule-files.ts";

/** The families that only processes on PostgreSQL expose. */
export const ofPostgres = /\bsandwatch_lease_remaining_seconds\b/;

/** Labels whose values are a closed set, all of which are exposed from the start. */
const closed = new Set(["status", "reason", "state"]);

/** Series that Prometheus itself makes. */
const own: Readonly<Record<string, readonly string[]>> = {
  up: [],
  scrape_duration_seconds: [],
  scrape_samples_scraped: [],
  ALERTS: ["alertname", "alertstate", "severity", "region", "key", "server_name"],
};

/**
 * Every series that sandwatch exposes or Prometheus makes.
 *
 * @param recorded what rules record, with its labels; it is called again each time
 */
async function readKnownSeries(
  recorded: ReadonlyMap<string, ReadonlySet<string>> = new Map(),
): Promise<KnownSeries> {
  const families = await eventfulFamilies({ operations, deliveryFailureReasons, refusalReasons });
  const exposed = new Map<string, Map<string, Set<string> | "any">>();
  for (const { samples } of families.values()) {
    for (const { name, labels } of samples) {
      const known = exposed.get(name) ?? new Map<string, Set<string> | "any">();
      exposed.set(name, known);
      for (const [label, value] of Object.entries(labels)) {
        const values = known.get(label) ?? (closed.has(label) ? new Set<string>() : "any");
        if (values !== "any") values.add(value);
        known.set(label, values);
      }
    }
  }
  return {
    labelsOf(metric) {
      const labels = recorded.get(metric) ?? own[metric];
      return exposed.get(metric) ?? (labels && anyValued(labels));
    },
  };
}

function anyValued(labels: Iterable<string>): KnownLabels {
  return new Map(Array.from(labels, (label) => [label, "any"]));
}

/** The rules for Prometheus in the order of the files, and what is known with the series that they record. */
export async function checkRules() {
  const recorded = new Map<string, ReadonlySet<string>>();
  const known = await readKnownSeries(recorded);
  const checked: (CheckedPromql & { readonly name: string })[] = [];
  for (const rule of readRuleGroups().flatMap(({ rules }) => rules)) {
    const result = checkPromql(rule.expr, known);
    // A rule may use what one before it recorded.
    if ("record" in rule) recorded.set(rule.record, result.labels);
    checked.push({ name: "record" in rule ? rule.record : rule.alert, ...result });
  }
  return { checked, recorded, known };
}
