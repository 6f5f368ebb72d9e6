import { Counter } from "prom-client";
import type { Registry } from "prom-client";
import type { Drift } from "../core/drift.ts";
import { escapeLabelValue } from "./exposition-text.ts";
import { LabelledHistogram } from "./labelled-histogram.ts";
import type { TargetFamily } from "./target-family.ts";

/** One request to the service. */
export interface RequestView {
  readonly region: string;
  readonly operation: string;
  /** The HTTP status, or the reason why there was none. */
  readonly code: string;
  readonly durationMs: number;
}

export interface ServiceMetrics {
  readonly families: readonly TargetFamily[];
  requested(request: RequestView): void;
  deviated(drift: Drift): void;
}

/** Past this many distinct fields of an operation in a region, further ones are `other`. */
export const maxDistinctFields = 100;

/** The requests made to the service, and how far its answers keep to the interface. */
export function createServiceMetrics(
  registry: Registry,
  regions: Iterable<string>,
  operations: readonly string[],
): ServiceMetrics {
  const registers = [registry];

  const asked = new Map<string, Map<string, Asked>>();
  const labels: string[] = [];
  for (const region of regions) {
    const ofRegion = new Map<string, Asked>();
    asked.set(region, ofRegion);
    for (const operation of operations) {
      const own = `region="${escapeLabelValue(region)}",operation="${escapeLabelValue(operation)}"`;
      const index = labels.push(own) - 1;
      ofRegion.set(operation, { labels: own, index, byCode: new Map([["200", 0]]) });
    }
  }

  const duration = new LabelledHistogram({
    name: "sandwatch_api_request_duration_seconds",
    help: "Duration of requests to the service, to the last byte of the response.",
    bounds: [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10],
    labels,
  });

  const deviations = new Counter({
    name: "sandwatch_schema_deviations_total",
    help: "Deviations of responses from the interface of the service.",
    labelNames: ["region", "operation", "field"],
    registers,
  });

  // The fields' names come from the service; each is a series for the life of the process.
  const knownFields = new Map<string, Set<string>>();
  const boundedField = (region: string, operation: string, field: string): string => {
    const scope = JSON.stringify([region, operation]);
    const known = knownFields.get(scope) ?? new Set<string>();
    knownFields.set(scope, known);
    if (!known.has(field) && known.size >= maxDistinctFields) return "other";
    known.add(field);
    return field;
  };

  return {
    families: [requestsFamily(asked), duration.family],
    requested({ region, operation, code, durationMs }) {
      const counted = asked.get(region)?.get(operation);
      if (!counted) throw new RangeError("The region of a request must be a configured one");
      counted.byCode.set(code, (counted.byCode.get(code) ?? 0) + 1);
      duration.observe(counted.index, durationMs / 1_000);
    },
    deviated({ region, operation, deviations: found }) {
      for (const { field, count } of found) {
        deviations.inc({ region, operation, field: boundedField(region, operation, field) }, count);
      }
    },
  };
}

/** What was asked of one region by one operation. */
interface Asked {
  /** Without braces. */
  readonly labels: string;
  readonly index: number;
  readonly byCode: Map<string, number>;
}

function requestsFamily(asked: ReadonlyMap<string, ReadonlyMap<string, Asked>>): TargetFamily {
  const name = "sandwatch_api_requests_total";
  return {
    name,
    help: "Requests to the service, by HTTP status or by the reason why there was none.",
    type: "counter",
    take: () =>
      [...asked.values()].flatMap((ofRegion) =>
        Array.from(ofRegion.values(), ({ labels, byCode }) =>
          Array.from(
            byCode,
            ([code, count]) => `${name}{${labels},code="${escapeLabelValue(code)}"} ${count}\n`,
          ).join(""),
        ),
      ),
  };
}
