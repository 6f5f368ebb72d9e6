import type { OpenBuckets } from "../fleet/accounting.ts";
import type { Snapshot } from "../fleet/snapshot.ts";
import type { FlapRecord } from "../core/flap-record.ts";
import type { Incident } from "../core/incident.ts";
import { holdIncidents } from "../core/open-incidents.ts";
import type { Verdict } from "../core/judge.ts";
import type { Target } from "../core/model.ts";
import type { TargetProgress, TargetState } from "../core/target-state.ts";
import type { PollDetail, WatchedView } from "../core/watched-view.ts";

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
  /** Turns in a row whose verdict was not kept. */
  readonly lostTurns: number;
  /** Takes the state on, after the verdict was committed. */
  accept(verdict: Verdict, detail?: PollDetail | null): void;
  /** Turns stayed out: what passed since the last verdict was not watched. */
  lapse(): void;
  /** A turn broke: its verdict was not kept, so what passed since the last one was not watched. */
  loseTurn(): void;
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
  let lostTurns = 0;
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

  const lapse = (): void => {
    // As after a restart: nobody knows what was between the last verdict that was kept and now.
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
    get lostTurns() {
      return lostTurns;
    },
    get up() {
      return lostTurns === 0 && state.progress.failuresInARow === 0;
    },
    get withheld() {
      const blindTurns = state.progress.failuresInARow + lostTurns;
      return restoredTooOld || blindTurns >= options.staleAfter;
    },
    lapse,
    loseTurn() {
      polled = true;
      lostTurns += 1;
      lapse();
    },
    accept(verdict, detail = null) {
      lastDetail = detail;
      state.snapshot = verdict.snapshot;
      held.takeOn(verdict.incidents);
      state.progress = verdict.progress;
      state.buckets = verdict.accounting.open;
      state.lastPollMonotonicMs = verdict.at.monotonicMs;
      polled = true;
      lostTurns = 0;
      if (verdict.progress.failuresInARow > 0) return;
      // A partial listing may lack the very server that is in error: the next one is judged whole too.
      if (verdict.progress.lastComplete) state.rulesApplied = true;
      restoredTooOld = false;
    },
  };
}
