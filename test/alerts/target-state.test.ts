import { describe, expect, it } from "vitest";
import {
  elapsedSince,
  initialProgress,
  nothingKnown,
  progressAfterFailure,
  progressAfterListing,
} from "../../src/alerts/target-state.ts";
import type { TargetProgress, TargetState } from "../../src/alerts/target-state.ts";
import { emptySnapshot } from "../../src/fleet/snapshot.ts";
import { target } from "./support/samples.ts";

const polledAtMs = 100_000;
const seen: TargetProgress = {
  attempted: { ms: 60_000, polls: 3 },
  observed: { ms: 60_000, polls: 3 },
  failuresInARow: 0,
  lastFailure: null,
  lastPollAtMs: polledAtMs,
  lastSuccessAtMs: polledAtMs,
  lastComplete: true,
};
const at = { utcMs: polledAtMs + 30_000, monotonicMs: 31_000 };

function stateOf(progress: TargetProgress, lastPollMonotonicMs: number | null): TargetState {
  const { buckets } = nothingKnown;
  const nothing = { snapshot: emptySnapshot, incidents: new Map(), flaps: new Map(), buckets };
  return { target, progress, lastPollMonotonicMs, rulesApplied: true, ...nothing };
}

describe("the time since the poll before", () => {
  it("is that of the monotonic clock, whatever the wall clock did", () => {
    for (const utcMs of [0, polledAtMs + 9e9]) {
      const elapsed = elapsedSince(stateOf(seen, 1_000), { ...at, utcMs });
      expect(elapsed).toEqual({
        ms: 30_000,
        sinceLastPollMs: 30_000,
        isUp: true,
        isFullyObserved: true,
      });
    }
  });

  it("was observed in part after a partial listing", () => {
    const elapsed = elapsedSince(stateOf({ ...seen, lastComplete: false }, 1_000), at);
    expect(elapsed).toMatchObject({ isUp: true, isFullyObserved: false });
  });

  it("was unobserved after a failed poll", () => {
    const blind = progressAfterFailure(seen, elapsedSince(stateOf(seen, 1_000), at), at, "timeout");
    const later = { utcMs: at.utcMs + 30_000, monotonicMs: 61_000 };
    expect(elapsedSince(stateOf(blind, at.monotonicMs), later)).toEqual({
      ms: 30_000,
      sinceLastPollMs: 30_000,
      isUp: false,
      isFullyObserved: false,
    });
  });

  it("across a restart is known from the timestamps only, and was unobserved", () => {
    expect(elapsedSince(stateOf(seen, null), at)).toEqual({
      ms: 0,
      sinceLastPollMs: 30_000,
      isUp: false,
      isFullyObserved: false,
    });
  });

  it("is nothing across a restart when the wall clock was set back, and before the first poll", () => {
    const setBack = elapsedSince(stateOf(seen, null), { ...at, utcMs: 5 });
    expect(setBack.sinceLastPollMs).toBe(0);
    expect(elapsedSince(stateOf(initialProgress, null), at).sinceLastPollMs).toBe(0);
  });
});

describe("a target's clocks", () => {
  const watched = elapsedSince(stateOf(seen, 1_000), at);

  it("both go on with an accepted listing", () => {
    expect(progressAfterListing(seen, watched, at, false)).toEqual({
      attempted: { ms: 90_000, polls: 4 },
      observed: { ms: 90_000, polls: 4 },
      failuresInARow: 0,
      lastFailure: null,
      lastPollAtMs: at.utcMs,
      lastSuccessAtMs: at.utcMs,
      lastComplete: false,
    });
  });

  it("a failed poll moves only the one of attempts, and is not complete", () => {
    expect(progressAfterFailure(seen, watched, at, "timeout")).toEqual({
      attempted: { ms: 90_000, polls: 4 },
      observed: { ms: 60_000, polls: 3 },
      failuresInARow: 1,
      lastFailure: "timeout",
      lastPollAtMs: at.utcMs,
      lastSuccessAtMs: polledAtMs,
      lastComplete: false,
    });
  });

  it("a listing after blindness counts as a poll, but the time before it does not", () => {
    const blind = progressAfterFailure(seen, watched, at, "network");
    const later = { utcMs: at.utcMs + 30_000, monotonicMs: 61_000 };
    const elapsed = elapsedSince(stateOf(blind, at.monotonicMs), later);
    expect(progressAfterListing(blind, elapsed, later, true)).toMatchObject({
      attempted: { ms: 120_000, polls: 5 },
      observed: { ms: 60_000, polls: 4 },
      failuresInARow: 0,
      lastFailure: null,
    });
  });

  it("failures in a row add up, and the last one's reason is kept", () => {
    const once = progressAfterFailure(seen, watched, at, "network");
    const twice = progressAfterFailure(once, watched, at, "auth");
    expect(twice).toMatchObject({ failuresInARow: 2, lastFailure: "auth" });
  });
});
