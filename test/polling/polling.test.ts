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

describe("a refused key", () => {
  /** Polls about 30 s apart until each of these answers was given, and when requests came. Seconds. */
  const play = async (refused: readonly boolean[]) => {
    let asked = 0;
    const started = startPolling(() =>
      refused[asked++] ? { ...failed("auth"), status: 403 } : listed(listing({})),
    );
    const { clock, turn, requests } = started;
    const startMs = clock.now().monotonicMs;
    const askedAt: number[] = [];
    for (let poll = 0; asked < refused.length; poll += 1) {
      const before = requests();
      await turn();
      if (requests() > before) askedAt.push((clock.now().monotonicMs - startMs) / second);
      clock.advance(30 * second + 200 * (1 - (poll % 3)));
    }
    return { ...started, askedAt: askedAt.map((each) => Math.round(each)) };
  };

  it("is asked about at the next poll, then at distances that double up to five minutes", async () => {
    const { askedAt } = await play(Array.from({ length: 8 }, () => true));
    expect(askedAt).toEqual([0, 30, 90, 210, 450, 750, 1_050, 1_350]);
  });

  it("that is accepted at the next poll is polled as usual, and nothing was notified", async () => {
    const { askedAt, committed, watched } = await play([false, false, true, false, false, false]);
    expect(askedAt).toEqual([0, 30, 60, 90, 120, 150]);
    expect(committed.flatMap(({ incidents }) => incidents.outbox)).toEqual([]);
    expect(watched.up).toBe(true);
  });

  it("that is refused after it was accepted again is asked about at the next poll again", async () => {
    const { askedAt, heard } = await play([true, true, true, false, true, true]);
    expect(askedAt).toEqual([0, 30, 90, 210, 240, 270]);
    expect(heard().filter((line) => line === "refused 0.5")).toHaveLength(2);
  });

  it("whose answer does not come in between is asked at the next poll, and is refused still", async () => {
    let answer: Answer = failed("auth");
    const { clock, turn, requests } = startPolling(() => answer);
    const poll = async (): Promise<number> => {
      const before = requests();
      await turn();
      clock.advance(30 * second);
      return requests() - before;
    };
    expect([await poll(), await poll(), await poll()]).toEqual([1, 1, 0]);
    answer = failed("http_error");
    expect(await poll()).toBe(1);
    answer = failed("auth");
    // The third refusal in a row.
    expect([await poll(), await poll(), await poll(), await poll(), await poll()]).toEqual([
      1, 0, 0, 0, 1,
    ]);
  });

  it("is asked about at each poll where polls are rarer than five minutes", async () => {
    const { clock, turn, requests } = startPolling(() => failed("auth"));
    for (let polls = 0; polls < 4; polls += 1) {
      await turn(undefined, 10 * minute);
      clock.advance(10 * minute);
    }
    expect(requests()).toBe(4);
  });

  it("keeps its target down while it is not asked, and no poll failed then", async () => {
    const { clock, turn, watched, heard } = startPolling(() => failed("auth"));
    for (let polls = 0; polls < 10; polls += 1) {
      await turn();
      clock.advance(30 * second);
    }
    expect(watched.up).toBe(false);
    expect(watched.state.progress).toMatchObject({
      failuresInARow: 4,
      lastFailure: "auth",
      attempted: { polls: 4, ms: 9 * 30 * second },
    });
    expect(heard().filter((line) => line.startsWith("polled"))).toEqual(
      Array.from({ length: 4 }, () => "polled us auth 0"),
    );
  });

  it("stays refused over a call without an answer, and no longer than until another answer", async () => {
    let answer: Answer = failed("auth");
    const { clock, turn, heard } = startPolling(() => answer);
    const pollAnswered = async (next: Answer): Promise<readonly string[]> => {
      answer = next;
      clock.advance(5 * minute);
      await turn();
      return heard().filter((line) => line.startsWith("refused"));
    };
    expect(await pollAnswered(failed("auth"))).toHaveLength(1);
    expect(await pollAnswered(failed("network"))).toEqual([]);
    expect(await pollAnswered(failed("auth"))).toEqual([]);
    expect(await pollAnswered({ ...failed("server_error"), status: 503 })).toEqual([]);
    expect(await pollAnswered(failed("auth"))).toHaveLength(1);
  });

  it("raises an incident as any other failure does", async () => {
    const { turn, committed, clock, requests } = startPolling(() => failed("auth"));
    while (committed.every(({ incidents }) => incidents.outbox.length === 0)) {
      await turn();
      clock.advance(30 * second);
    }
    // Its rule asks for three polls: those that were not sent are none.
    expect([requests(), committed.length]).toEqual([3, 4]);
    expect(committed[3]?.incidents.outbox[0]?.condition).toBe("cannot be seen (auth)");
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
