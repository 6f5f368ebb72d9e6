import { describe, expect, it } from "vitest";
import { judgePoll } from "../../src/alerts/judge.ts";
import { initialProgress, nothingKnown } from "../../src/alerts/target-state.ts";
import { watchTarget } from "../../src/polling/watched-target.ts";
import { runAtOnce } from "../../src/fleet/slices.ts";
import { findServer, restoreSnapshot } from "../../src/fleet/snapshot.ts";
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

  it("keeps through failures what was last seen", () => {
    const { watched, poll } = watchFleet(research);
    poll(listing({ a: "occupied" }));
    for (let polls = 0; polls < 5; polls += 1) poll("failed");
    expect(findServer(watched.state.snapshot, "box", "a")).toMatchObject({ status: "occupied" });
  });

  it("after a restart that took long is withheld until it was seen, not merely asked for", () => {
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

describe("a turn whose verdict is not kept", () => {
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

  it("counts towards the blindness that failed polls began", () => {
    const { watched, poll } = watchFleet(research, { staleAfter: 3 });
    poll(listing({ a: "idle" }));
    poll("failed");
    poll("failed");
    watched.losePoll();
    expect(watched.withheld).toBe(true);
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

  it("counts the rules as applied by a listing only", () => {
    const { watched, poll } = watchFleet(research);
    poll("failed");
    expect(watched.state.rulesApplied).toBe(false);
    poll(listing({}));
    expect(watched.state.rulesApplied).toBe(true);
  });

  it("drops a pending incident that ended", () => {
    const rule = judgeBy().rules.map((each) =>
      each.on === "server" ? { ...each, for: { kind: "polls", polls: 5 } as const } : each,
    );
    const { watched, poll } = watchFleet(research, { judge: judgeBy(rule) });
    poll(listing({ a: "error" }));
    expect(watched.state.incidents.size).toBe(1);
    poll(listing({ a: "idle" }));
    expect(watched.state.incidents.size).toBe(0);
  });
});
