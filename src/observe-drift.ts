import type { DriftSighting } from "./core/drift-ledger.ts";
import type { DriftWatch } from "./drift/drift-watch.ts";
import type { Metrics } from "./metrics/metrics.ts";

/** Whatever call an answer came to: how it differs from the interface is counted, kept and said. */
export function observeDrift(
  metrics: Metrics,
  watch: DriftWatch,
): (sighting: DriftSighting) => void {
  return (sighting) => {
    const { region, operation, deviations } = sighting;
    for (const { field, count } of deviations) {
      metrics.service.deviated(region, operation, field, count);
    }
    watch.saw(sighting);
  };
}
