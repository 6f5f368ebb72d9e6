import type { OpenBuckets } from "../fleet/accounting.ts";
import type { Snapshot } from "../fleet/snapshot.ts";
import type { FlapRecord } from "../alerts/flap-record.ts";
import type { Incident } from "../alerts/incident.ts";
import { holdIncidents } from "../alerts/open-incidents.ts";
import type { Verdict } from "../alerts/judge.ts";
import type { Target } from "../fleet/model.ts";
import type { TargetProgress, TargetState } from "../alerts/target-state.ts";
import type { PollDetail, WatchedView } from "../alerts/watched-view.ts";

/** What the store gives of a target when sandwatch starts. */
export interface RestoredTarget {
  readonly id: number;
  readonly target: Target;
  readonly progress: TargetProgress;
  readonly openIncidents: readonly Incident[];
  readonly flaps: readonly FlapRecord[];
  readonly buckets: OpenBuckets;
}

/** A target while it is watched: its state, and what may be shown of it. */
export interface WatchedTarget extends WatchedView {
  readonly id: number;
  /** Polls in a row that were not stored. */
  readonly lostPolls: number;
  /** Takes the state on, after the verdict was committed. */
  accept(verdict: Verdict, detail?: PollDetail | null): void;
  /** Polls are missing: the time since the last one was not observed. */
  noteGap(): void;
  /** A poll was not stored: the time since the last one that was is not observed. */
  losePoll(): void;
}

export interface WatchOptions {
  /** Failed polls in a row before the servers' series are withheld. */
  readonly staleAfter: number;
  /** What was last seen before a restart longer ago than this is not shown. Milliseconds. */
  readonly restoredForMs: number;
  readonly nowUtcMs: number;
}

export function watchTarget(
  { id, target, progress, openIncidents, flaps: restoredFlaps, buckets }: RestoredTarget,
  snapshot: Snapshot,
  options: WatchOptions,
): WatchedTarget {
  const held = holdIncidents(openIncidents, restoredFlaps);
  let polled = false;
  let lostPolls = 0;
  let lastDetail: PollDetail | null = null;
  let restoredTooOld =
    options.nowUtcMs - (progress.lastSuccessAtMs ?? options.nowUtcMs) > options.restoredForMs;
  const state: { -readonly [Field in keyof TargetState]: TargetState[Field] } = {
    target,
    progress,
    lastPollMonotonicMs: null,
    rulesApplied: false,
    snapshot,
    incidents: held.incidents,
    flaps: held.flaps,
    buckets,
  };

  // As after a restart: nobody observed what was between the last poll that was stored and now.
  const noteGap = (): void => {
    state.lastPollMonotonicMs = null;
  };

  return {
    id,
    target,
    state,
    get polled() {
      return polled;
    },
    get detail() {
      return lastDetail;
    },
    get lostPolls() {
      return lostPolls;
    },
    get up() {
      return lostPolls === 0 && state.progress.failuresInARow === 0;
    },
    get withheld() {
      const pollsDown = state.progress.failuresInARow + lostPolls;
      return restoredTooOld || pollsDown >= options.staleAfter;
    },
    noteGap,
    losePoll() {
      polled = true;
      lostPolls += 1;
      noteGap();
    },
    accept(verdict, detail = null) {
      lastDetail = detail;
      state.snapshot = verdict.snapshot;
      held.takeOn(verdict.incidents);
      state.progress = verdict.progress;
      state.buckets = verdict.accounting.open;
      state.lastPollMonotonicMs = verdict.at.monotonicMs;
      polled = true;
      lostPolls = 0;
      if (verdict.progress.failuresInARow > 0) return;
      // A partial listing may lack the very server that is in error: the next one is judged whole too.
      if (verdict.progress.lastComplete) state.rulesApplied = true;
      restoredTooOld = false;
    },
  };
}
