import type { StoredProbe } from "../store/probes.ts";
import type { Incident } from "../alerts/incident.ts";
import { holdIncidents } from "../alerts/target-state.ts";
import type { ProbeState, ProbeVerdict } from "../alerts/judge-probe.ts";
import { noReadings, readingsAfterLoss, readingsAfterRun } from "../alerts/probe.ts";
import type { Probe } from "../alerts/probe.ts";

/** What is known of a probe in a region with a key when sandwatch starts. */
export interface RestoredProbe extends StoredProbe {
  readonly openIncidents: readonly Incident[];
}

/** A probe in a region with a key while it runs. */
export type WatchedProbe = ReturnType<typeof watchProbe>;

/** @param staleAfter runs in a row without news before what was last observed is withheld */
export function watchProbe(probe: Probe, restored: RestoredProbe, staleAfter: number) {
  const { id, subject, progress } = restored;
  const held = holdIncidents(restored.openIncidents, restored.flaps);
  const state: { -readonly [Field in keyof ProbeState]: ProbeState[Field] } = {
    subject,
    expect: probe.expect,
    progress,
    lastRunMonotonicMs: null,
    incidents: held.incidents,
    flaps: held.flaps,
  };
  let readings = noReadings;
  let lostRuns = 0;
  return {
    id,
    probe,
    subject,
    operation: probe.operation,
    /** The same object throughout: it always reads as of the last commit. */
    state,
    get progress() {
      return state.progress;
    },
    get readings() {
      return readings;
    },
    /** Runs in a row that were not stored. */
    get lostRuns() {
      return lostRuns;
    },
    /** Takes the state on, after the verdict was committed. */
    accept(verdict: ProbeVerdict): void {
      held.apply(verdict.incidents);
      state.progress = verdict.progress;
      state.lastRunMonotonicMs = verdict.at.monotonicMs;
      readings = readingsAfterRun(readings, verdict.run, verdict.result, staleAfter);
      lostRuns = 0;
    },
    /** A run was not stored: as after a restart, the time since the last one that was is not observed. */
    loseRun(): void {
      lostRuns += 1;
      state.lastRunMonotonicMs = null;
      readings = readingsAfterLoss(readings, staleAfter);
    },
  };
}
