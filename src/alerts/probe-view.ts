import type { ProbeSubject } from "./incident.ts";
import type { Operation } from "../fleet/model.ts";
import type { ProbeProgress } from "./probe-progress.ts";
import type { ProbeReadings } from "./probe-readings.ts";

/** What may be shown of a probe, by metrics and pages: always as of the last commit. */
export interface ProbeView {
  readonly id: number;
  readonly subject: ProbeSubject;
  readonly operation: Operation;
  readonly progress: ProbeProgress;
  /** Of this process's runs alone. */
  readonly readings: ProbeReadings;
}
