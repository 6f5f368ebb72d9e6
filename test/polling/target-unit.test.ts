import { setImmediate as settle } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import type { Verdict } from "../../src/alerts/judge.ts";
import type { Status } from "../../src/fleet/model.ts";
import { findServer } from "../../src/fleet/snapshot.ts";
import type { Snapshot } from "../../src/fleet/snapshot.ts";
import { countByStatus } from "../../src/fleet/tallies.ts";
import { listing, server } from "../support/fleet.ts";
import { changesOf } from "../support/listing.ts";
import { failed, listed, minute, second, startPolling } from "./support/start-polling.ts";
import type { Answer } from "./support/start-polling.ts";

describe("a poll", () => {
  it("calls, counts, commits, and shows only then", async () => {
    const { poll, watched, heard } = startPolling(() => listed(listing({ a: "idle" })));
    await poll();
    expect(heard()).toEqual(["polled us ok 0", "commit 1", "committed true"]);
    expect(countByStatus(watched.state.snapshot.tallies.servers)).toBe(1);
    expect(watched.polled).toBe(true);
  });

  it("wakes delivery after a commit with notifications, and only then", async () => {
    let status: "idle" | "error" = "idle";
    const { poll, heard, clock } = startPolling(() => listed(listing({ a: status })));
    await poll();
    expect(heard().join()).not.toContain("outbox");
    status = "error";
    clock.advance(30 * second);
    await poll();
    expect(heard().slice(-2)).toEqual([`outbox ${clock.now().utcMs}`, "committed true"]);
    await poll();
    expect(heard().join()).not.toContain("outbox");
  });

  it("has gathered polls committed once no other is under way, also where one failed", async () => {
    const gives: ((answer: Answer) => void)[] = [];
    const { poll, gathered } = startPolling(
      () => new Promise((resolve) => void gives.push(resolve)),
    );
    const polls = [poll(), poll()];
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

  it("that fails changes nothing that was observed", async () => {
    let answer: Answer = listed(listing({ a: "occupied" }));
    const { poll, watched, heard, committed } = startPolling(() => answer);
    await poll();
    answer = failed("http_error");
    await poll();
    expect(heard()).toContain("polled us http_error 0");
    expect(findServer(watched.state.snapshot, "box", "a")?.status).toBe("occupied");
    expect(watched.state.progress.failuresInARow).toBe(1);
    expect(committed[1]?.snapshot).toBe(committed[0]?.snapshot);
  });

  it("for which Retry-After leaves no room counts as failed, though nothing was sent", async () => {
    const { poll, watched, heard } = startPolling(() => failed("server_error", 10 * minute));
    await poll();
    heard();
    await poll();
    expect(heard()).toEqual(["polled us rate_limited null", "commit 1", "committed true"]);
    expect(watched.state.progress).toMatchObject({
      failuresInARow: 2,
      lastFailure: "rate_limited",
    });
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

  it("whose call throws is lost alone", async () => {
    let broken = true;
    const { poll, heard } = startPolling(() => {
      if (broken) throw new TypeError("our own bug");
      return listed(listing({}));
    });
    await poll();
    expect(heard()).toEqual(["lost"]);
    broken = false;
    await poll();
    expect(heard()).toContain("committed true");
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

  it("of all other statuses counts nothing of them until a later one succeeds", async () => {
    const inAll = (status: Status): Answer => {
      const boxes = Array.from({ length: 300 }, (_, box) => `box-${box}`);
      const servers = [server("a", { status })];
      const sandboxes = boxes.map((id) => ({ id, status, benchmark: null, servers }));
      return listed({ complete: true, sandboxes });
    };
    let answer = inAll("idle");
    const { poll, watched, world } = startPolling(() => answer);
    await poll();
    const first = watched.state.snapshot;
    const observed = structuredClone(first.sandboxes);
    answer = inAll("error");
    const { commit } = world;
    world.commit = () => Promise.reject(new Error("disk full"));
    await poll();
    expect(watched.state.snapshot).toBe(first);
    world.commit = commit;
    await poll();
    expect(first.sandboxes).toEqual(observed);
    expect(findServer(watched.state.snapshot, "box-7", "a")?.status).toBe("error");
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

  it("counts no failure of a key that was refused before", async () => {
    const { polling, poll, heard } = startPolling(() => failed("auth"));
    await poll();
    heard();
    await polling.stop();
    await poll();
    expect(heard()).toEqual([]);
  });

  it("lets a commit under way go on to its end", async () => {
    const { polling, poll, world, heard, watched } = startPolling(() =>
      listed(listing({ a: "idle" })),
    );
    let finish: () => void = () => {};
    world.commit = () => new Promise((resolve) => void (finish = resolve));
    const polled = poll();
    await settle();
    await polling.stop();
    finish();
    await polled;
    expect(heard()).toContain("committed true");
    expect(watched.polled).toBe(true);
  });
});
