import { flapKey } from "./flap-record.ts";
import type { FlapRecord } from "./flap-record.ts";
import { takeOn } from "./incident-engine.ts";
import type { IncidentOutcome } from "./incident-engine.ts";
import { byIncidentKey, keyOfIncident } from "./incident.ts";
import type { Incident } from "./incident.ts";

/** The open incidents of a target or a probe, and what is known of how they come and go. */
export interface OpenIncidents {
  /** By `incidentKey`. */
  readonly incidents: ReadonlyMap<string, Incident>;
  /** By the same keys. */
  readonly flaps: ReadonlyMap<string, FlapRecord>;
  /** Brings them to what an outcome made of them. */
  takeOn(outcome: IncidentOutcome): void;
}

export function holdIncidents(
  open: Iterable<Incident>,
  records: readonly FlapRecord[],
): OpenIncidents {
  const incidents = byIncidentKey(open);
  const flaps = new Map(records.map((record) => [flapKey(record), record]));
  return {
    incidents,
    flaps,
    takeOn(outcome) {
      takeOn(outcome, {
        set: (incident) => incidents.set(keyOfIncident(incident), incident),
        remove: (incident) => incidents.delete(keyOfIncident(incident)),
      });
      for (const record of outcome.flaps) {
        if (record.enteredMs.length === 0) flaps.delete(flapKey(record));
        else flaps.set(flapKey(record), record);
      }
    },
  };
}
