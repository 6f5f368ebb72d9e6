import { Counter, Histogram } from "prom-client";
import type { Registry } from "prom-client";
import type { Drift } from "../fleet/drift.ts";

/** One request to the service. */
export interface RequestView {
  readonly region: string;
  readonly operation: string;
  /** The HTTP status, or the reason why there was none. */
  readonly code: string;
  readonly durationMs: number;
}

/** Past this many distinct fields of an operation in a region, further ones are `other`. */
export const maxDistinctFields = 100;

/** Counts the requests to the service, and how its responses deviate from the interface. */
export function createServiceMetrics(
  registry: Registry,
  regions: Iterable<string>,
  operations: readonly string[],
) {
  const registers = [registry];
  const requests = new Counter({
    name: "sandwatch_api_requests_total",
    help: "Requests to the service, by HTTP status or by the reason why there was none.",
    labelNames: ["region", "operation", "code"],
    registers,
  });
  const duration = new Histogram({
    name: "sandwatch_api_request_duration_seconds",
    help: "Duration of requests to the service, to the last byte of the response.",
    labelNames: ["region", "operation"],
    buckets: [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10],
    registers,
  });
  const deviations = new Counter({
    name: "sandwatch_schema_deviations_total",
    help: "Deviations of responses from the interface of the service.",
    labelNames: ["region", "operation", "field"],
    registers,
  });
  for (const region of regions) {
    for (const operation of operations) {
      requests.inc({ region, operation, code: "200" }, 0);
      duration.zero({ region, operation });
    }
  }

  // The service chooses the names of fields, and each is a series for the life of the process.
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
    requested({ region, operation, code, durationMs }: RequestView): void {
      requests.inc({ region, operation, code });
      duration.observe({ region, operation }, durationMs / 1_000);
    },
    deviated({ region, operation, deviations: found }: Drift): void {
      for (const { field, count } of found) {
        deviations.inc({ region, operation, field: boundedField(region, operation, field) }, count);
      }
    },
  };
}
