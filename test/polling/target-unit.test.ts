import { setImmediate as settle } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import type { Verdict } from "../../src/alerts/judge.ts";
import type { Snapshot } from "../../src/fleet/snapshot.ts";
import { countByStatus } from "../../src/fleet/tallies.ts";
import { listing } from "../support/fleet.ts";
import { changesOf } from "../support/listing.ts";
import { failed, listed, startPolling } from "./support/start-polling.ts";
import type { Answer } from "./support/start-polling.ts";

describe("a poll", () => {
  it("calls, counts, commits, and shows only then", async () => {
    const { poll, watched, heard } = startPolling(() => listed(listing({ a: "idle" })));
    await poll();
    expect(heard()).toEqual(["polled us ok 0", "commit 1", "committed true"]);
    expect(countByStatus(watched.state.snapshot.tallies.servers)).toBe(1);
    expect(watched.polled).toBe(true);
  });

  it("has gathered polls committed once no other is under way, also where one failed", async () => {
    const gives: ((answer: Answer) => void)[] = [];
    const { poll, pollOther, gathered } = startPolling(
      () => new Promise((resolve) => void gives.push(resolve)),
    );
    const polls = [poll(), pollOther()];
    await settle();
    gives[0]?.(listed(listing({ a: "idle" })));
    await polls[0];
    await settle();
    expect(gathered()).toBe(0);
    gives[1]?.(failed("http_error"));
    await polls[1];
    await settle();
    expect(gathered()).toBe(1);
  });

  it("has them committed only once it is decided itself, however many slices that takes", async () => {
    const servers = Array.from({ length: 300 }, (_, at) => [`server-${at}`, "error"] as const);
    const { poll, gathered, world } = startPolling(() =>
      listed(listing(Object.fromEntries(servers))),
    );
    const gatheredBefore: number[] = [];
    world.commit = () => Promise.resolve(void gatheredBefore.push(gathered()));
    await poll();
    await settle();
    expect(gatheredBefore).toEqual([0]);
    expect(gathered()).toBe(1);
  });

  it("is called with what was observed before, and a number that is one more after each listing", async () => {
    const { poll, calls, watched } = startPolling(() => listed(listing({ a: "idle" })));
    const before: Snapshot[] = [];
    for (let polls = 0; polls < 3; polls++) {
      before.push(watched.state.snapshot);
      await poll();
    }
    expect(calls.every((call, at) => call.before === before[at])).toBe(true);
    const first = calls[0]?.poll ?? 0;
    expect(calls.map((call) => call.poll - first)).toEqual([0, 1, 2]);
  });
});

describe("a commit that fails", () => {
  it("leaves everything as it was; the next poll decides the same again", async () => {
    const { poll, watched, world, heard, committed, clock, lines } = startPolling(() =>
      listed(listing({ a: "error" })),
    );
    const refused: Verdict[] = [];
    world.commit = (verdict) => {
      refused.push(verdict);
      return Promise.reject(new Error("disk full"));
    };
    const before = watched.state.progress;
    await poll();
    await poll();
    expect(heard().slice(0, 3)).toEqual(["polled us ok 0", "commit 1", "lost"]);
    expect(watched.state.progress).toBe(before);
    expect([watched.polled, watched.up]).toEqual([true, false]);
    expect(watched.state.incidents.size).toBe(0);
    expect(watched.state.snapshot.sandboxes).toEqual([]);
    // Logged once, however many polls are lost.
    expect(lines).toMatchObject([{ level: "error", event: "poll.failed", key: "research" }]);

    world.commit = () => Promise.resolve();
    await poll();
    expect(heard().slice(-2)).toEqual([`outbox ${clock.now().utcMs}`, "committed true"]);
    const [kept, lost] = [committed[0], refused[0]].map((each) => each && changesOf(each.diff));
    expect(kept).toHaveLength(1);
    expect(kept).toEqual(lost);
    expect(committed[0]?.incidents.outbox.length).toBe(1);
    expect(watched.state.incidents.size).toBe(1);
    expect(lines[1]).toMatchObject({ event: "poll.recovered", lost_polls: 2, key: "research" });
  });
});

describe("stopping", () => {
  it("ends a call under way as if it had never begun, and begins none", async () => {
    let answerNow: (answer: Answer) => void = () => {};
    const { polling, poll, watched, heard, calls } = startPolling(
      () => new Promise((resolve) => void (answerNow = resolve)),
    );
    const polled = poll();
    await settle();
    await polling.stop();
    answerNow(failed("network"));
    await polled;
    await poll();
    expect([heard(), calls.length, watched.polled]).toEqual([[], 1, false]);
  });
});
