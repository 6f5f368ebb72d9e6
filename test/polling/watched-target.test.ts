import { describe, expect, it } from "vitest";
import { judgePoll } from "../../src/alerts/judge.ts";
import { initialProgress, nothingKnown } from "../../src/alerts/target-state.ts";
import { watchTarget } from "../../src/polling/watched-target.ts";
import { runAtOnce } from "../../src/fleet/slices.ts";
import { restoreSnapshot } from "../../src/fleet/snapshot.ts";
import { judgeBy, listing, research, startMs, toOutcome, watchFleet } from "../support/fleet.ts";

const idle = listing({ a: "idle" });

describe("what is shown of a target", () => {
  it("is withheld from the failed poll on that makes it stale until a poll is accepted", () => {
    const { watched, poll } = watchFleet(research, { staleAfter: 3 });
    const outcomes = [idle, "failed", "failed", "failed", "failed", idle] as const;
    const withheld = outcomes.map((outcome) => (poll(outcome), watched.withheld));
    expect(withheld).toEqual([false, false, false, true, true, false]);
  });

  it("is down, and in the end withheld, while polls are not stored", () => {
    const { watched, poll } = watchFleet(research, { staleAfter: 3 });
    poll(idle);
    const shown = [1, 2, 3].map(() => (watched.losePoll(), [watched.up, watched.withheld]));
    expect(shown).toEqual([
      [false, false],
      [false, false],
      [false, true],
    ]);
    poll(idle);
    expect([watched.up, watched.withheld, watched.lostPolls]).toEqual([true, false, 0]);
  });

  it("after a long restart is withheld until a poll is accepted, not merely sent", () => {
    const progress = { ...initialProgress, lastSuccessAtMs: startMs - 90_001 };
    const { snapshot } = watchFleet().poll(idle);
    const watched = watchTarget(
      { id: 1, target: research, ...nothingKnown, progress },
      runAtOnce(restoreSnapshot(snapshot.sandboxes)),
      { staleAfter: 3, restoredForMs: 90_000, nowUtcMs: startMs },
    );
    const at = { utcMs: startMs, monotonicMs: 5 };
    const shown = [[watched.withheld, watched.polled]];
    for (const outcome of ["failed", idle] as const) {
      watched.accept(judgePoll(watched.state, toOutcome(outcome), at, judgeBy()));
      shown.push([watched.withheld, watched.polled]);
    }
    expect(shown).toEqual([
      [true, false],
      [true, true],
      [false, true],
    ]);
  });
});

it("the state is one object that reads as of the last accepted verdict", () => {
  const { watched, poll } = watchFleet(research);
  const { state } = watched;
  const verdict = poll(listing({ a: "error" }));
  expect(watched.state).toBe(state);
  expect(state.progress).toBe(verdict.progress);
  expect(state.lastPollMonotonicMs).toBe(verdict.at.monotonicMs);
  expect(state.incidents.size).toBe(1);
  poll(idle);
  expect(state.incidents.size).toBe(0);
});
