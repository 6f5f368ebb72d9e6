import { setImmediate as settle } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import type { Verdict } from "../../src/core/judge.ts";
import type { PackedChanges } from "../../src/core/snapshot/packed-changes.ts";
import { createMarkedReader } from "../core/support/marked-intake.ts";
import type { Status } from "../../src/core/model.ts";
import { listing, server } from "../support/fleet.ts";
import { changesOf } from "../support/take-in.ts";
import { failed, listed, minute, second, startPolling } from "./support/start-polling.ts";
import type { Answer } from "./support/start-polling.ts";

describe("a turn", () => {
  it("asks, tells of the poll, commits, and shows only then", async () => {
    const { turn, watched, heard } = startPolling(() => listed(listing({ a: "idle" })));
    await turn();
    expect(heard()).toEqual(["polled us ok 0", "commit 1", "committed true"]);
    expect(watched.state.snapshot.serverCount).toBe(1);
    expect(watched.polled).toBe(true);
  });

  it.each(["kept", "not kept"])("gives back what its changes were packed in: %s", async (fate) => {
    const { turn, store } = startPolling(() => listed(listing({ a: "idle" })));
    const pieces: PackedChanges[] = [];
    store.commit = async ({ changes }) => {
      pieces.push(...changes.pieces());
      await settle();
      expect(pieces.map(({ words }) => words.length > 0)).toEqual([true]);
      if (fate === "not kept") throw new Error("disk full");
    };
    await turn();
    expect(pieces.map(({ words }) => words.length)).toEqual([0]);
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
    expect(watched.state.snapshot.server("box", "a")?.status).toBe("occupied");
    expect(watched.state.progress.failuresInARow).toBe(1);
    expect(committed[1]?.pages).toBeNull();
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

describe("texts that are known", () => {
  it("are read nevertheless at one of 1,024 polls", async () => {
    const reader = createMarkedReader();
    let read: readonly string[] = [];
    const { clock, turn } = startPolling(
      () => listed(listing({ a: "idle" })),
      (intake, sandboxes) => {
        read = reader.read(intake, sandboxes);
        return intake;
      },
    );
    let polls = 0;
    for (let at = 0; at <= 2 * 1_024; at++) {
      await turn();
      clock.advance(30 * second);
      if (read.length > 0) polls++;
    }
    expect(polls).toBe(1 + 2);
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
    expect([...watched.state.snapshot.servers()]).toEqual([]);

    store.commit = () => Promise.resolve();
    await turn();
    expect(heard().slice(-2)).toEqual([`outbox ${clock.now().utcMs}`, "committed true"]);
    const [kept, lost] = [committed[0], refused[0]].map((each) => changesOf(each?.changes ?? []));
    expect(kept).toHaveLength(1);
    expect(kept).toEqual(lost);
    expect(committed[0]?.incidents.outbox.length).toBe(1);
    expect(watched.state.incidents.size).toBe(1);
  });
});

it("what was before is given up once a poll that gives all other statuses is committed, not sooner", async () => {
  const inAll = (status: Status): Answer => {
    const boxes = Array.from({ length: 300 }, (_, box) => `box-${box}`);
    const servers = [server("a", { status })];
    const sandboxes = boxes.map((sandboxId) => ({ sandboxId, status, benchmark: null, servers }));
    return listed({ complete: true, sandboxes });
  };
  let answer = inAll("idle");
  const { turn, watched, store } = startPolling(() => answer);
  await turn();
  const first = watched.state.snapshot;
  const seen = Array.from(first.servers());
  answer = inAll("error");
  const { commit } = store;
  store.commit = () => Promise.reject(new Error("disk full"));
  await turn();
  expect(Array.from(first.servers())).toEqual(seen);
  store.commit = commit;
  await turn();
  expect(() => Array.from(first.servers())).toThrow("hold its snapshot");
  expect(watched.state.snapshot.server("box-7", "a")?.status).toBe("error");
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
