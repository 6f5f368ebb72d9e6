import type { FlapRecord } from "../alerts/flap-record.ts";
import type { Incident, ProbeSubject } from "../alerts/incident.ts";
import { holdIncidents } from "../alerts/open-incidents.ts";
import type { ProbeState, ProbeVerdict } from "../alerts/judge-probe.ts";
import type { Probe } from "../alerts/probe.ts";
import type { ProbeProgress } from "../alerts/probe.ts";
import { noReadings, readingsAfterLoss, readingsAfterRun } from "../alerts/probe.ts";
import type { ProbeView } from "../alerts/probe.ts";

/** What is known of a probe in a region with a key when sandwatch starts. */
export interface RestoredProbe {
  readonly id: number;
  readonly subject: ProbeSubject;
  readonly progress: ProbeProgress;
  readonly openIncidents: readonly Incident[];
  readonly flaps: readonly FlapRecord[];
}

/** A probe in a region with a key while it runs. */
export interface WatchedProbe extends ProbeView {
  readonly probe: Probe;
  /** The same object throughout: it always reads as of the last commit. */
  readonly state: ProbeState;
  /** Runs in a row that were not stored. */
  readonly lostRuns: number;
  /** Takes the state on, after the verdict was committed. */
  accept(verdict: ProbeVerdict): void;
  /** A run was not stored: the time since the last one that was is not observed. */
  loseRun(): void;
}

/** @param staleAfter runs in a row without news before what was last seen is withheld */
export function watchProbe(
  probe: Probe,
  { id, subject, progress, openIncidents, flaps: restoredFlaps }: RestoredProbe,
  staleAfter: number,
): WatchedProbe {
  const held = holdIncidents(openIncidents, restoredFlaps);
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
    state,
    get progress() {
      return state.progress;
    },
    get readings() {
      return readings;
    },
    get lostRuns() {
      return lostRuns;
    },
    accept(verdict) {
      held.takeOn(verdict.incidents);
      state.progress = verdict.progress;
      state.lastRunMonotonicMs = verdict.at.monotonicMs;
      readings = readingsAfterRun(readings, verdict.run, verdict.result, staleAfter);
      lostRuns = 0;
    },
    loseRun() {
      lostRuns += 1;
      // As after a restart: nobody observed what was between the last run that was stored and now.
      state.lastRunMonotonicMs = null;
      readings = readingsAfterLoss(readings, staleAfter);
    },
  };
}
