import { setImmediate as settle } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import type { Verdict } from "../../src/core/judge.ts";
import type { Status } from "../../src/core/model.ts";
import { findServer } from "../../src/fleet/snapshot.ts";
import type { Snapshot } from "../../src/fleet/snapshot.ts";
import { countByStatus } from "../../src/fleet/tallies.ts";
import { listing, server } from "../support/fleet.ts";
import { changesOf } from "../support/listing.ts";
import { failed, listed, minute, second, startPolling } from "./support/start-polling.ts";
import type { Answer } from "./support/start-polling.ts";

describe("a turn", () => {
  it("asks, tells of the poll, commits, and shows only then", async () => {
    const { turn, watched, heard } = startPolling(() => listed(listing({ a: "idle" })));
    await turn();
    expect(heard()).toEqual(["polled us ok 0", "commit 1", "committed true"]);
    expect(countByStatus(watched.state.snapshot.tallies.servers)).toBe(1);
    expect(watched.polled).toBe(true);
  });

  it("calls on delivery after a commit that has something to tell, and only then", async () => {
    let status: "idle" | "error" = "idle";
    const { turn, heard, clock } = startPolling(() => listed(listing({ a: status })));
    await turn();
    expect(heard().join()).not.toContain("outbox");
    status = "error";
    clock.advance(30 * second);
    await turn();
    expect(heard().slice(-2)).toEqual([`outbox ${clock.now().utcMs}`, "committed true"]);
    await turn();
    expect(heard().join()).not.toContain("outbox");
  });

  it("is followed by a lull once no other call is under way, also where one failed", async () => {
    const gives: ((answer: Answer) => void)[] = [];
    const { turn, lulls } = startPolling(() => new Promise((resolve) => void gives.push(resolve)));
    const turns = [turn(), turn()];
    await settle();
    gives[0]?.(listed(listing({ a: "idle" })));
    await turns[0];
    await settle();
    expect(lulls()).toBe(0);
    gives[1]?.(failed("http_error"));
    await turns[1];
    await settle();
    expect(lulls()).toBe(1);
  });

  it("is followed by a lull only once it is decided, however many steps that takes", async () => {
    const servers = Array.from({ length: 300 }, (_, at) => [`server-${at}`, "error"] as const);
    const { turn, lulls, store } = startPolling(() => listed(listing(Object.fromEntries(servers))));
    const lullsBefore: number[] = [];
    store.commit = () => Promise.resolve(void lullsBefore.push(lulls()));
    await turn();
    await settle();
    expect(lullsBefore).toEqual([0]);
    expect(lulls()).toBe(1);
  });

  it("that fails changes nothing that was seen", async () => {
    let answer: Answer = listed(listing({ a: "occupied" }));
    const { turn, watched, heard, committed } = startPolling(() => answer);
    await turn();
    answer = failed("http_error");
    await turn();
    expect(heard()).toContain("polled us http_error 0");
    expect(findServer(watched.state.snapshot, "box", "a")?.status).toBe("occupied");
    expect(watched.state.progress.failuresInARow).toBe(1);
    expect(committed[1]?.snapshot).toBe(committed[0]?.snapshot);
  });

  it("of an unknown target does nothing", async () => {
    const { turn, heard } = startPolling(() => listed(listing({})));
    await turn({ region: "eu", key: "research" });
    expect(heard()).toEqual([]);
  });

  it("in which the service asked for patience counts as failed, though nothing was sent", async () => {
    const { turn, watched, heard } = startPolling(() => failed("server_error", 10 * minute));
    await turn();
    heard();
    await turn();
    expect(heard()).toEqual(["polled us rate_limited null", "commit 1", "committed true"]);
    expect(watched.state.progress).toMatchObject({
      failuresInARow: 2,
      lastFailure: "rate_limited",
    });
  });
});

describe("a call", () => {
  it("is given what was observed before, and a number that is one more after each listing", async () => {
    const { turn, calls, watched } = startPolling(() => listed(listing({ a: "idle" })));
    const before: Snapshot[] = [];
    for (let poll = 0; poll < 3; poll++) {
      before.push(watched.state.snapshot);
      await turn();
    }
    expect(calls.every((call, at) => call.before === before[at])).toBe(true);
    const first = calls[0]?.poll ?? 0;
    expect(calls.map(({ poll }) => poll - first)).toEqual([0, 1, 2]);
  });
});

describe("a commit that fails", () => {
  it("leaves everything as it was; the next poll decides the same anew", async () => {
    const { turn, watched, store, heard, committed, clock } = startPolling(() =>
      listed(listing({ a: "error" })),
    );
    const refused: Verdict[] = [];
    store.commit = (verdict) => {
      refused.push(verdict);
      return Promise.reject(new Error("disk full"));
    };
    const before = watched.state.progress;
    await turn();
    expect(heard()).toEqual(["polled us ok 0", "commit 1", "turn failed: Error: disk full"]);
    expect(watched.state.progress).toBe(before);
    expect([watched.polled, watched.up]).toEqual([true, false]);
    expect(watched.state.incidents.size).toBe(0);
    expect(watched.state.snapshot.sandboxes).toEqual([]);

    store.commit = () => Promise.resolve();
    await turn();
    expect(heard().slice(-2)).toEqual([`outbox ${clock.now().utcMs}`, "committed true"]);
    const [kept, lost] = [committed[0], refused[0]].map((each) => each && changesOf(each.diff));
    expect(kept).toHaveLength(1);
    expect(kept).toEqual(lost);
    expect(committed[0]?.incidents.outbox.length).toBe(1);
    expect(watched.state.incidents.size).toBe(1);
  });
});

it("a poll that gives all other statuses counts once it is committed, not sooner", async () => {
  const inAll = (status: Status): Answer => {
    const boxes = Array.from({ length: 300 }, (_, box) => `box-${box}`);
    const servers = [server("a", { status })];
    const sandboxes = boxes.map((id) => ({ id, status, benchmark: null, servers }));
    return listed({ complete: true, sandboxes });
  };
  let answer = inAll("idle");
  const { turn, watched, store } = startPolling(() => answer);
  await turn();
  const first = watched.state.snapshot;
  const seen = structuredClone(first.sandboxes);
  answer = inAll("error");
  const { commit } = store;
  store.commit = () => Promise.reject(new Error("disk full"));
  await turn();
  expect(watched.state.snapshot).toBe(first);
  store.commit = commit;
  await turn();
  expect(first.sandboxes).toEqual(seen);
  expect(findServer(watched.state.snapshot, "box-7", "a")?.status).toBe("error");
});

it("a call that throws ends its turn alone", async () => {
  let broken = true;
  const { turn, heard } = startPolling(() => {
    if (broken) throw new TypeError("our own bug");
    return listed(listing({}));
  });
  await turn();
  expect(heard()).toEqual(["turn failed: TypeError: our own bug"]);
  broken = false;
  await turn();
  expect(heard()).toContain("committed true");
});

describe("aborting", () => {
  it("ends a call under way as if it had never begun, and begins none", async () => {
    let answerNow: (answer: Answer) => void = () => {};
    const { polling, turn, watched, heard, requests } = startPolling(
      () => new Promise((resolve) => void (answerNow = resolve)),
    );
    const polled = turn();
    await settle();
    polling.abort();
    answerNow(failed("network"));
    await polled;
    await turn();
    expect([heard(), requests(), watched.polled]).toEqual([[], 1, false]);
  });

  it("books no failure to a key that was refused before", async () => {
    const { polling, turn, heard } = startPolling(() => failed("auth"));
    await turn();
    heard();
    polling.abort();
    await turn();
    expect(heard()).toEqual([]);
  });

  it("lets a commit under way go on to its end", async () => {
    const { polling, turn, store, heard, watched } = startPolling(() =>
      listed(listing({ a: "idle" })),
    );
    let finish: () => void = () => {};
    store.commit = () => new Promise((resolve) => void (finish = resolve));
    const polled = turn();
    await settle();
    polling.abort();
    finish();
    await polled;
    expect(heard()).toContain("committed true");
    expect(watched.polled).toBe(true);
  });
});
