import type { Snapshot } from "../fleet/snapshot.ts";
import { holdIncidents, type OpenIncidents } from "../alerts/target-state.ts";
import type { Verdict } from "../alerts/judge.ts";
import type { TargetState } from "../alerts/target-state.ts";
import type { StoredTarget } from "../store/targets.ts";
import type { PollDetail } from "../alerts/target-view.ts";

/** The stored state of a target when sandwatch starts. */
export type RestoredTarget = Omit<StoredTarget, "servers">;

export interface WatchOptions {
  /** Failed polls in a row before the servers' series are withheld. */
  readonly staleAfter: number;
  /** State that is older than this at a restart is not shown. Milliseconds. */
  readonly restoredForMs: number;
  readonly nowUtcMs: number;
}

/** A target while it is watched: its state, and what may be shown of it. */
export type WatchedTarget = ReturnType<typeof watchTarget>;

export function watchTarget(restored: RestoredTarget, snapshot: Snapshot, options: WatchOptions) {
  const { id, target } = restored;
  const { staleAfter, restoredForMs, nowUtcMs } = options;
  const held = holdIncidents(restored.openIncidents, restored.flaps);
  const state: { -readonly [Field in keyof TargetState]: TargetState[Field] } = stateOf(
    restored,
    held,
    snapshot,
  );
  let polled = false;
  let lostPolls = 0;
  let lostBecause: unknown = null;
  let lastDetail: PollDetail | null = null;
  let restoredTooOld = nowUtcMs - (restored.progress.lastSuccessAtMs ?? nowUtcMs) > restoredForMs;

  /** Polls are missing: as after a restart, the time since the last one that was stored is not observed. */
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
    /** Polls in a row that were not stored. */
    get lostPolls() {
      return lostPolls;
    },
    /** The error of the last poll that was not stored. */
    get lostBecause() {
      return lostBecause;
    },
    get up() {
      return lostPolls === 0 && state.progress.failuresInARow === 0;
    },
    get withheld() {
      return restoredTooOld || state.progress.failuresInARow + lostPolls >= staleAfter;
    },
    noteGap,
    /** A poll was not stored. */
    losePoll(error: unknown = null): void {
      polled = true;
      lostPolls += 1;
      lostBecause = error;
      noteGap();
    },
    /** Takes the state on, after the verdict was committed. */
    accept(verdict: Verdict, detail: PollDetail | null = null): void {
      lastDetail = detail;
      state.snapshot = verdict.snapshot;
      held.apply(verdict.incidents);
      state.progress = verdict.progress;
      state.lastPollMonotonicMs = verdict.at.monotonicMs;
      polled = true;
      lostPolls = 0;
      lostBecause = null;
      if (verdict.progress.failuresInARow > 0) return;
      // A partial listing may lack the very server that is in error: the next one is judged whole too.
      if (verdict.progress.lastComplete) state.rulesApplied = true;
      restoredTooOld = false;
    },
  };
}

function stateOf(
  { target, progress }: RestoredTarget,
  { incidents, flaps }: OpenIncidents,
  snapshot: Snapshot,
): TargetState {
  const nothingPolled = { lastPollMonotonicMs: null, rulesApplied: false };
  return { target, progress, ...nothingPolled, snapshot, incidents, flaps };
}
