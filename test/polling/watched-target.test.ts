import { describe, expect, it } from "vitest";
import { judgePoll } from "../../src/alerts/judge.ts";
import { initialProgress, nothingKnown } from "../../src/alerts/target-state.ts";
import { watchTarget } from "../../src/polling/watched-target.ts";
import { runAtOnce } from "../../src/fleet/slices.ts";
import { restoreSnapshot } from "../../src/fleet/snapshot.ts";
import { judgeBy, listing, research, startMs, watchFleet } from "../support/fleet.ts";
import { readListing } from "../support/listing.ts";

describe("what is shown of a target", () => {
  it("is withheld from the failed poll on that makes it stale until a poll is accepted", () => {
    const { watched, poll } = watchFleet(research, { staleAfter: 3 });
    const shown = [
      listing({ a: "idle" }),
      "failed" as const,
      "failed" as const,
      "failed" as const,
      "failed" as const,
      listing({ a: "idle" }),
    ].map((outcome) => {
      poll(outcome);
      return watched.withheld;
    });
    expect(shown).toEqual([false, false, false, true, true, false]);
  });

  it("after a long restart is withheld until a poll is accepted, not merely sent", () => {
    const progress = { ...initialProgress, lastSuccessAtMs: startMs - 90_001 };
    const { snapshot } = watchFleet().poll(listing({ a: "idle" }));
    const watched = watchTarget(
      { id: 1, target: research, ...nothingKnown, progress },
      runAtOnce(restoreSnapshot(snapshot.sandboxes)),
      { staleAfter: 3, restoredForMs: 90_000, nowUtcMs: startMs },
    );
    const at = { utcMs: startMs, monotonicMs: 5 };
    expect([watched.withheld, watched.polled]).toEqual([true, false]);
    watched.accept(judgePoll(watched.state, { kind: "failed", reason: "auth" }, at, judgeBy()));
    expect([watched.withheld, watched.polled]).toEqual([true, true]);
    const seen = { kind: "listed", listing: readListing(listing({ a: "idle" })) } as const;
    watched.accept(judgePoll(watched.state, seen, at, judgeBy()));
    expect(watched.withheld).toBe(false);
  });
});

describe("a poll that is not stored", () => {
  it("makes the target down, and in the end withheld, until one is kept again", () => {
    const { watched, poll } = watchFleet(research, { staleAfter: 3 });
    poll(listing({ a: "idle" }));
    const shown = [1, 2, 3].map(() => {
      watched.losePoll();
      return [watched.up, watched.withheld];
    });
    expect(shown).toEqual([
      [false, false],
      [false, false],
      [false, true],
    ]);
    poll(listing({ a: "idle" }));
    expect([watched.up, watched.withheld, watched.lostPolls]).toEqual([true, false, 0]);
  });
});

describe("the state", () => {
  it("is one object that reads as of the last accepted verdict", () => {
    const { watched, poll } = watchFleet(research);
    const { state } = watched;
    const verdict = poll(listing({ a: "error" }));
    expect(watched.state).toBe(state);
    expect(state.progress).toBe(verdict.progress);
    expect(state.lastPollMonotonicMs).toBe(verdict.at.monotonicMs);
    expect(state.incidents.size).toBe(1);
    poll(listing({ a: "idle" }));
    expect(state.incidents.size).toBe(0);
  });
});
