import type { RestoredProbe, WatchedProbe } from "../../../src/polling/watched-probe.ts";

/** The probe as a store that took every verdict gives it back. */
export function restoredFrom({ id, subject, state }: WatchedProbe): RestoredProbe {
  return {
    id,
    subject,
    progress: state.progress,
    openIncidents: [...state.incidents.values()],
    flaps: [...state.flaps.values()],
  };
}
