import { describe, expect, it } from "vitest";
import type { TimelineQuery } from "../../../src/store/unit-history.ts";
import { collect } from "../../support/collect.ts";
import { listing, research, startMs, watchFleet } from "../../support/fleet.ts";
import { engines } from "../support/engines.ts";
import { openPollStore } from "../support/poll-store.ts";

describe.each(engines)("the timeline of a server on $name", (engine) => {
  /** Polls that list server `a` with these statuses, some seconds apart. */
  const openWith = async (polls: readonly (readonly ["idle" | "error", number])[]) => {
    const { store, targetId } = await openPollStore(engine);
    const { poll } = watchFleet();
    const verdicts = polls.map(([a, seconds]) => poll(listing({ a }), seconds));
    await store.importPolls(targetId, verdicts);
    const read = async (query: Partial<TimelineQuery>) => {
      const { recorded, timeline } = await store.occupancy.open();
      const [{ fromMs, toMs } = { fromMs: 0, toMs: 0 }] = recorded;
      const usual = { sandboxId: "box", serverId: "a", fromMs, toMs, isUp: false };
      const { segments, truncated } = await timeline(research, { ...usual, ...query });
      const spent = segments.map((each) => `${each.status} ${(each.toMs - each.fromMs) / 1_000}`);
      return { spent, truncated };
    };
    return { store, read };
  };

  it("is unobserved for as long as changes are not kept, and goes on with what is known then", async () => {
    const { store, read } = await openWith([
      ["idle", 0],
      ["error", 600],
      ["error", 3_600],
      ["error", 3_600],
    ]);
    const whole = { spent: ["idle 600", "error 7200"], truncated: false };
    expect(await read({})).toEqual(whole);
    while (await store.rollUp());
    for (const keptFromMs of [startMs + 300_000, startMs + 3_000_000]) {
      while (await store.prune.changes(keptFromMs));
      const { changesKeptFromMs } = await store.occupancy.open();
      const knownSeconds = (changesKeptFromMs - startMs) / 1_000;
      const left = Math.max(0, 600 - knownSeconds);
      const idle = left > 0 ? [`idle ${left}`] : [];
      const error = `error ${7_200 - Math.max(0, knownSeconds - 600)}`;
      const spent = [`unobserved ${knownSeconds}`, ...idle, error];
      expect(await read({})).toEqual({ spent, truncated: false });
    }
  });

  it("goes on after the last poll only while its target is up", async () => {
    const { read } = await openWith([
      ["idle", 0],
      ["error", 60],
    ]);
    const toMs = startMs + 90_000;
    expect((await read({ toMs })).spent).toEqual(["idle 60", "unobserved 30"]);
    expect((await read({ toMs, isUp: true })).spent).toEqual(["idle 60", "error 30"]);
  });

  it("is empty for a range without length, also of a target of which nothing is recorded", async () => {
    const { read } = await openWith([]);
    expect((await read({ fromMs: startMs, toMs: startMs })).spent).toEqual([]);
    expect((await read({ fromMs: startMs, toMs: startMs + 1_000 })).spent).toEqual([
      "unobserved 1",
    ]);
  });

  it("has the latest changes of one that changed very often, and says that these are not all", async () => {
    const words = Array.from({ length: 2_100 }, (_, at) => (at % 2 === 0 ? "idle" : "error"));
    const { read } = await openWith(words.map((word, at) => [word, at === 0 ? 0 : 5] as const));
    const { spent, truncated } = await read({});
    expect(truncated).toBe(true);
    expect(spent.slice(0, 3)).toEqual(["unobserved 490", "idle 5", "error 5"]);
    expect(spent).toHaveLength(2_002);
    expect((await read({ fromMs: startMs + 600_000 })).truncated).toBe(false);
  });

  it.each([
    [{ server: "a" }, ["a"]],
    [{ server: "b" }, ["bc", "bcd"]],
    [{ server: "bc" }, ["bc"]],
    [{ server: "github" }, ["a", "bc", "bcd"]],
    [{ server: "x" }, []],
    [{ sandbox: "box" }, ["a", "bc", "bcd"]],
    [{ sandbox: "bo", server: "bcd" }, ["bcd"]],
    [{ sandbox: "c" }, []],
  ])("%j names %j: what is a whole id names nothing else", async (only, ids) => {
    const { store, targetId } = await openPollStore(engine);
    const { poll } = watchFleet();
    await store.commitPoll(targetId, poll(listing({ a: "idle", bc: "idle", bcd: "idle" })));
    const occupancy = await store.occupancy.open();
    const toMs = startMs + 3_600_000;
    const query = { subject: "server", fromMs: 0, toMs, untilMs: toMs, first: "" } as const;
    const cells = await collect(occupancy.units(research, { ...query, only, keyOf: () => "" }));
    const found = cells.flatMap((cell) => cell.units.map(({ serverId }) => serverId ?? ""));
    expect(found.toSorted()).toEqual(ids);
  });
});
