import { Counter, Histogram } from "prom-client";
import type { Registry } from "prom-client";

/** One request to the service. */
export interface RequestView {
  readonly region: string;
  readonly operation: string;
  /** The HTTP status, or the reason why there was none. */
  readonly code: string;
  readonly durationMs: number;
}

export interface ServiceMetrics {
  requested(request: RequestView): void;
  deviated(region: string, operation: string, field: string, count: number): void;
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

  const requests = new Counter({
    name: "sandwatch_api_requests_total",
    help: "Requests to the service, by HTTP status or by the reason why there was none.",
    labelNames: ["region", "operation", "code"],
    registers,
  });

  const duration = new Histogram({
    name: "sandwatch_api_request_duration_seconds",
    help: "How long requests to the service took, to the last byte.",
    labelNames: ["region", "operation"],
    buckets: [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10],
    registers,
  });

  const deviations = new Counter({
    name: "sandwatch_schema_deviations_total",
    help: "Places in the service's answers that were not as its interface has them.",
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

  for (const region of regions) {
    for (const operation of operations) {
      requests.inc({ region, operation, code: "200" }, 0);
      duration.zero({ region, operation });
    }
  }

  return {
    requested({ region, operation, code, durationMs }) {
      requests.inc({ region, operation, code });
      duration.observe({ region, operation }, durationMs / 1_000);
    },
    deviated(region, operation, field, count) {
      deviations.inc({ region, operation, field: boundedField(region, operation, field) }, count);
    },
  };
}
