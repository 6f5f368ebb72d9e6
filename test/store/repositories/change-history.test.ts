import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Presence } from "../../../src/fleet/model.ts";
import { firstOf } from "../../../src/lib/first-of.ts";
import { allTime } from "../../../src/store/changes.ts";
import type { ChangeQuery, StoredChange } from "../../../src/store/changes.ts";
import { listing, research, startMs, watchFleet } from "../../support/fleet.ts";
import { openPollStore } from "../support/poll-store.ts";
import type { PollStore } from "../support/poll-store.ts";
import { addTarget } from "../../support/add-target.ts";
import { engines } from "../support/engines.ts";

describe.each(engines)("on $name", (engine) => {
  const other = { region: "eu", key: "evals" };
  const first = "0a1b2c3d-4e5f-4071-8293-a4b5c6d7e8f9";
  const second = "0a1b2c3d-4e5f-4071-8293-000000000000";

  /** Two targets, each polled at the same times. */
  async function openTwoTargets(): Promise<PollStore & { readonly poll: Poll }> {
    const opened = await openPollStore(engine);
    const { id } = await addTarget(opened.store, other);
    const fleets = [
      { targetId: opened.targetId, fleet: watchFleet(research) },
      { targetId: id, fleet: watchFleet(other) },
    ];
    const poll: Poll = async (us, eu = us) => {
      for (const [index, { targetId, fleet }] of fleets.entries()) {
        await opened.store.commitPoll(targetId, fleet.poll([us, eu][index] ?? "failed"));
      }
    };
    return { ...opened, poll };
  }

  type Seen = Parameters<ReturnType<typeof watchFleet>["poll"]>[0];
  type Poll = (us: Seen, eu?: Seen) => Promise<void>;

  async function all(
    { store }: Pick<PollStore, "store">,
    query: Partial<ChangeQuery> = {},
  ): Promise<readonly StoredChange[]> {
    const found = store.changes.between({ ...allTime, direction: "asc", ...query });
    return firstOf(found, 100_000);
  }

  function lines(changes: readonly StoredChange[]): readonly string[] {
    return changes.map(({ atMs, target, serverId, from, to, observation }) => {
      const poll = (atMs - startMs) / 30_000;
      return `${poll} ${target.region} ${serverId.slice(-4)} ${observation ?? `${from} ${to}`}`;
    });
  }

  describe("the changes of a stretch of time", () => {
    it("come in its order, either way, with how long the status before lasted", async () => {
      const opened = await openTwoTargets();
      await opened.poll(listing({ a: "idle", b: "error" }));
      await opened.poll(listing({ a: "occupied", b: "error" }));
      await opened.poll(listing({ a: "idle", b: "error" }), "failed");
      const expected = [
        "1 us a absent idle",
        "1 us b absent error",
        "1 eu a absent idle",
        "1 eu b absent error",
        "2 us a idle occupied",
        "2 eu a idle occupied",
        "3 us a occupied idle",
      ];
      const forwards = await all(opened);
      expect(lines(forwards)).toEqual(expected);
      expect(forwards.map(({ dwellMs }) => dwellMs)).toEqual([
        null,
        null,
        null,
        null,
        null,
        null,
        30_000,
      ]);
      expect(lines(await all(opened, { direction: "desc" }))).toEqual(expected.toReversed());
      const [, secondPollMs, thirdPollMs] = [1, 2, 3].map((poll) => startMs + poll * 30_000);
      const between = await all(opened, { fromMs: secondPollMs ?? 0, toMs: thirdPollMs ?? 0 });
      expect(lines(between)).toEqual(expected.slice(4, 6));
    });

    it("go on after any one of them, whatever else was kept meanwhile", async () => {
      const opened = await openTwoTargets();
      await opened.poll(listing({ a: "idle", b: "error", c: "idle" }));
      await opened.poll(listing({ a: "occupied", b: "idle", c: "error" }));
      for (const direction of ["asc", "desc"] as const) {
        const whole = lines(await all(opened, { direction }));
        for (const [index, { cursor }] of (await all(opened, { direction })).entries()) {
          expect(lines(await all(opened, { direction, cursor }))).toEqual(whole.slice(index + 1));
        }
      }
      await expect(all(opened, { cursor: "nowhere" })).rejects.toThrow(RangeError);
    });

    it("leave out what lapsed, unless that is asked for", async () => {
      const opened = await openTwoTargets();
      await opened.poll(listing({ a: "idle" }), "failed");
      await opened.poll(listing({}), "failed");
      await opened.poll(listing({ a: "idle" }), "failed");
      await opened.poll(listing({}), "failed");
      await opened.poll(listing({}), "failed");
      expect(lines(await all(opened))).toEqual(["1 us a absent idle", "5 us a idle absent"]);
      expect(lines(await all(opened, { observations: true }))).toEqual([
        "1 us a absent idle",
        "2 us a missing",
        "3 us a seen",
        "4 us a missing",
        "5 us a idle absent",
      ]);
    });

    it("are those that fit every field of what is asked", async () => {
      const opened = await openTwoTargets();
      const boxes = (status: (Presence & "idle") | "error") => ({
        complete: true,
        sandboxes: [first, "plain-box"].map((id) => ({
          id,
          status: "idle" as const,
          benchmark: null,
          servers: [first, second, "plain"].map((serverId) => ({
            id: serverId,
            name: serverId === "plain" ? "0a1b" : "github",
            status: serverId === second ? ("occupied" as const) : status,
            benchmark: null,
            tags: [],
          })),
        })),
      });
      await opened.poll(boxes("idle"));
      await opened.poll(boxes("error"));
      const everything = await all(opened);
      expect(everything).toHaveLength(2 * (6 + 4));
      const cases: readonly (readonly [Partial<ChangeQuery>, (change: StoredChange) => boolean])[] =
        [
          [{ region: ["eu"] }, ({ target }) => target.region === "eu"],
          [{ key: ["research", "nobody"] }, ({ target }) => target.key === "research"],
          [{ server: first }, ({ serverId }) => serverId === first],
          [{ server: "0" }, ({ serverId }) => serverId !== "plain"],
          [
            { server: "0a1b" },
            ({ serverId, serverName }) => serverId !== "plain" || serverName === "0a1b",
          ],
          [{ server: "0a1b2c3d-4e5f-4071-8293-0" }, ({ serverId }) => serverId === second],
          [{ server: "pl" }, ({ serverId }) => serverId === "plain"],
          [{ server: "github" }, ({ serverName }) => serverName === "github"],
          [{ server: "git" }, () => false],
          [{ sandbox: "plain" }, ({ sandboxId }) => sandboxId === "plain-box"],
          [{ sandbox: "0a" }, ({ sandboxId }) => sandboxId === first],
          [{ name: ["github", "no"] }, ({ serverName }) => serverName === "github"],
          [{ from: ["absent"] }, ({ from }) => from === "absent"],
          [{ to: ["error", "occupied"] }, ({ to }) => to === "error" || to === "occupied"],
          [
            { from: ["idle"], server: "plain", region: ["us"] },
            (change) =>
              change.from === "idle" &&
              change.serverId === "plain" &&
              change.target.region === "us",
          ],
        ];
      for (const [query, isMeant] of cases) {
        expect(await all(opened, query)).toEqual(everything.filter(isMeant));
      }
    });

    it("are all there, however many one poll has", async () => {
      const opened = await openPollStore(engine);
      const ids = Array.from({ length: 5_000 }, (_, index) => `server-${index}`);
      const { poll } = watchFleet();
      const servers = Object.fromEntries(ids.map((id) => [id, "idle" as const]));
      await opened.store.commitPoll(opened.targetId, poll(listing(servers)));
      const found = await all(opened);
      expect(found.map(({ serverId }) => serverId)).toEqual(ids);
      const backwards = await all(opened, { direction: "desc", cursor: found[4_000]?.cursor });
      expect(backwards).toEqual(found.slice(0, 4_000).toReversed());
    });
  });

  describe("what was kept later", () => {
    it("comes in the order in which it was kept, so many at a time, also if the clock was put back", async () => {
      const opened = await openTwoTargets();
      const { changes } = opened.store;
      const nothing = await changes.newest();
      expect(await changes.after(nothing, {}, 10)).toEqual({ changes: [], cursor: nothing });
      await opened.poll(listing({ a: "idle" }));
      const here = await changes.newest();
      const late = watchFleet();
      late.poll(listing({ a: "idle" }));
      await opened.store.commitPoll(
        opened.targetId,
        late.poll(listing({ a: "error", b: "idle", c: "idle" }), -90),
      );
      const some = await changes.after(here, {}, 2);
      expect(lines(some.changes)).toEqual(["-2 us a idle error", "-2 us b absent idle"]);
      const more = await changes.after(some.cursor, {}, 2);
      expect(lines(more.changes)).toEqual(["-2 us c absent idle"]);
      expect(await changes.after(more.cursor, {}, 2)).toEqual({ changes: [], cursor: more.cursor });
      expect(lines((await changes.after(here, { to: ["error"] }, 9)).changes)).toHaveLength(1);
      expect((await changes.after(nothing, {}, 99)).changes).toHaveLength(5);
    });

    it("is nothing behind the latest, though that one was pruned before earlier ones", async () => {
      const opened = await openPollStore(engine);
      const { poll } = watchFleet();
      for (const [turn, status] of (["idle", "error", "idle"] as const).entries()) {
        const verdict = poll(listing({ a: status }));
        // The clock is far behind when the last one is kept.
        const utcMs = verdict.at.utcMs - (turn === 2 ? 100_000_000 : 0);
        await opened.store.commitPoll(opened.targetId, {
          ...verdict,
          at: { ...verdict.at, utcMs },
        });
      }
      const { changes, prune } = opened.store;
      const newest = await changes.newest();
      while (await prune.changes(startMs));
      expect(await all(opened)).toHaveLength(2);
      expect((await changes.after(newest, {}, 9)).changes).toEqual([]);
      await opened.store.commitPoll(opened.targetId, poll(listing({ a: "error" })));
      expect((await changes.after(newest, {}, 9)).changes).toHaveLength(1);
      expect((await changes.after(await changes.newest(), {}, 9)).changes).toEqual([]);
    });

    it("is what came after that time, where the store was begun anew", async () => {
      const opened = await openTwoTargets();
      await opened.poll(listing({ a: "idle" }));
      await opened.poll(listing({ a: "error" }));
      const past = `${startMs + 30_000}_900`;
      const { changes } = await opened.store.changes.after(past, {}, 9);
      expect(lines(changes)).toEqual(["2 us a idle error", "2 eu a idle error"]);
    });
  });

  it("any stretch, filter and place give what looking at all of them would", async () => {
    const opened = await openTwoTargets();
    const statuses = ["idle", "occupied", "error"] as const;
    for (let poll = 0; poll < 60; poll += 1) {
      const servers = Array.from({ length: 12 }, (_, index) => {
        const status = statuses[(index * 7 + poll * (index % 5)) % 3] ?? "idle";
        return [`${index}`, status] as const;
      });
      await opened.poll(listing(Object.fromEntries(servers.slice(poll % 4))));
    }
    const everything = await all(opened, { observations: true });
    const times = fc.integer({ min: -1, max: 62 }).map((poll) => startMs + poll * 30_000);
    const optional = <Value>(value: fc.Arbitrary<Value>) => fc.option(value, { nil: undefined });
    const queries = fc.record({
      fromMs: times,
      toMs: times,
      direction: fc.constantFrom("asc", "desc"),
      server: optional(fc.constantFrom("1", "11", "github", "nobody")),
      region: optional(fc.constantFrom<readonly string[]>(["us"], ["us", "eu"], [])),
      to: optional(fc.subarray<Presence>(["idle", "error", "absent"])),
      observations: fc.boolean(),
      place: fc.nat(everything.length - 1),
      isPlaced: fc.boolean(),
    });
    await fc.assert(
      fc.asyncProperty(queries, async ({ place, isPlaced, ...query }) => {
        const { direction, server, region = [], to = [] } = query;
        const inOrder = direction === "asc" ? everything : everything.toReversed();
        const after = isPlaced ? inOrder.slice(place + 1) : inOrder;
        const expected = after.filter(
          (change) =>
            change.atMs >= query.fromMs &&
            change.atMs < query.toMs &&
            (server === undefined ||
              change.serverId.startsWith(server) ||
              change.serverName === server) &&
            (region.length === 0 || region.includes(change.target.region)) &&
            (to.length === 0 || to.includes(change.to)) &&
            (query.observations || change.observation === null),
        );
        const cursor = isPlaced ? inOrder[place]?.cursor : undefined;
        expect(await all(opened, { ...query, cursor })).toEqual(expected);
      }),
      { numRuns: engine.runs(60) },
    );
  });
});
