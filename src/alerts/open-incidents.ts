import { flapKey, type FlapRecord } from "./flap-record.ts";
import type { IncidentOutcome, KnownIncidents } from "./incident-engine.ts";
import { incidentKey, type Incident } from "./incident.ts";

export interface OpenIncidents extends KnownIncidents {
  apply(outcome: IncidentOutcome): void;
}

export function keyOfIncident({ rule, subject }: Incident): string {
  return incidentKey(rule, subject);
}

export function holdIncidents(
  open: readonly Incident[],
  records: readonly FlapRecord[] = [],
): OpenIncidents {
  const incidents = new Map(open.map((incident) => [keyOfIncident(incident), incident]));
  const flaps = new Map(records.map((record) => [flapKey(record), record]));
  return {
    incidents,
    flaps,
    apply(outcome) {
      for (const incident of [...outcome.written, ...outcome.dropped]) {
        if (incident.phase.name === "resolved") incidents.delete(keyOfIncident(incident));
        else incidents.set(keyOfIncident(incident), incident);
      }
      for (const record of outcome.flaps) {
        if (record.enteredMs.length === 0) flaps.delete(flapKey(record));
        else flaps.set(flapKey(record), record);
      }
    },
  };
}
