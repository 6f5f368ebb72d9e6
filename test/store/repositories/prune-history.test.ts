import { describe, expect, it } from "vitest";
import { sql } from "kysely";
import { resolutions } from "../../../src/fleet/buckets.ts";
import { tally } from "../../alerts/support/ledger.ts";
import { listing, watchFleet } from "../../support/fleet.ts";
import { openBooks } from "../support/books.ts";
import { bucketsIn, collect } from "../../support/collect.ts";
import { openPollStore } from "../support/poll-store.ts";
import { engines } from "../support/engines.ts";

describe.each(engines)("on $name", (engine) => {
  const minuteMs = 60_000;
  const hourMs = 60 * minuteMs;

  /** @returns how many steps it took */
  async function pruneAll(step: () => Promise<boolean>): Promise<number> {
    let steps = 1;
    while (await step()) steps += 1;
    return steps;
  }

  describe("buckets", () => {
    it("go once they ended before, of this resolution alone, and never those that are open", async () => {
      await using books = await openBooks(engine);
      const { store } = books;
      const targets = [
        await books.book({ region: "us", key: "research" }),
        await books.book({ region: "eu", key: "support" }),
      ];
      for (const target of targets) {
        await target.pass(0, [tally("git", { idle: 1 })]);
        await target.pass(30 * hourMs, [tally("git", { idle: 1 })]);
      }
      const startsOf = async (resolution: (typeof resolutions)[number]) => {
        const all = await bucketsIn(store.occupancy, { resolution });
        return all.map(({ bucket }) => bucket.startMs);
      };
      const before = await Promise.all(resolutions.map(startsOf));
      const boundMs = Date.UTC(2026, 10, 21, 9, 7);
      await pruneAll(() => store.prune.buckets("5m", boundMs));
      const [fives = [], hours, days] = await Promise.all(resolutions.map(startsOf));
      expect([hours, days]).toEqual(before.slice(1));
      expect(fives).toEqual(before[0]?.filter((startMs) => startMs + 5 * minuteMs > boundMs));
      await pruneAll(() => store.prune.buckets("1d", Number.MAX_SAFE_INTEGER));
      expect(new Set(await startsOf("1d"))).toEqual(new Set([Date.UTC(2026, 10, 21)]));
    });

    it("go a little at a time", async () => {
      await using books = await openBooks(engine);
      const target = await books.book({ region: "us", key: "research" });
      await target.pass(0, [tally("git", { idle: 1 })]);
      await target.pass(1_200 * 5 * minuteMs, [tally("git", { idle: 1 })]);
      expect(await pruneAll(() => books.store.prune.buckets("5m", Number.MAX_SAFE_INTEGER))).toBe(
        5,
      );
      expect((await books.store.occupancy.open()).extents).toContainEqual(
        expect.objectContaining({ resolution: "5m", firstMs: Date.UTC(2026, 10, 24, 13, 55) }),
      );
    });
  });

  describe("gaps", () => {
    it("go once they ended before, those of each target", async () => {
      await using books = await openBooks(engine);
      const targets = [
        await books.book({ region: "us", key: "research" }),
        await books.book({ region: "eu", key: "support" }),
      ];
      for (const target of targets) {
        await target.pass(0, []);
        for (let turn = 0; turn < 4; turn++)
          await target.pass(hourMs, [], { observed: turn % 2 === 0 });
      }
      const first = targets[0]?.ledger.atMs ?? 0;
      await pruneAll(() => books.store.prune.gaps(first - hourMs / 2));
      for (const { target } of targets) {
        const gaps = books.store.occupancy.gaps({
          target,
          fromMs: 0,
          toMs: Number.MAX_SAFE_INTEGER,
        });
        expect(await collect(gaps)).toEqual([{ fromMs: first - hourMs, toMs: first }]);
      }
    });
  });

  describe("changes", () => {
    it("go once they are from before", async () => {
      const { store, targetId, rows } = await openPollStore(engine);
      const { poll } = watchFleet();
      const verdicts = [
        listing({ a: "idle" }),
        listing({ a: "error" }),
        listing({ a: "idle" }),
      ].map((each) => poll(each));
      for (const verdict of verdicts) await store.commitPoll(targetId, verdict);
      await pruneAll(() => store.prune.changes(verdicts[1]?.at.utcMs ?? 0));
      expect((await rows("changes")).map((row) => row["at_ms"])).toEqual(
        verdicts.slice(1).map(({ at }) => at.utcMs),
      );
    });
  });

  describe("incidents", () => {
    async function openIncidents() {
      const world = await openPollStore(engine);
      const { poll } = watchFleet();
      for (const status of ["error", "idle", "error"] as const) {
        await world.store.commitPoll(world.targetId, poll(listing({ a: status })));
      }
      await world.sql(sql`insert into acknowledgements values ('incident-1', 'jo', null, 1, 1)`);
      const idsIn = async (table: string, column: string) =>
        (await world.rows(table)).map((row) => row[column]);
      return { ...world, idsIn };
    }

    it("go with who knew of them, once they were resolved before and nothing tells of them", async () => {
      const { store, idsIn, sql: execute } = await openIncidents();
      await pruneAll(() => store.prune.incidents(Number.MAX_SAFE_INTEGER));
      expect(await idsIn("incidents", "id")).toEqual(["incident-1", "incident-2"]);
      await execute(sql`delete from outbox_items where incident_id = 'incident-1'`);
      await pruneAll(() => store.prune.incidents(0));
      expect(await idsIn("incidents", "id")).toEqual(["incident-1", "incident-2"]);
      expect(await idsIn("acknowledgements", "incident_id")).toEqual(["incident-1"]);
      await pruneAll(() => store.prune.incidents(Number.MAX_SAFE_INTEGER));
      expect(await idsIn("incidents", "id")).toEqual(["incident-2"]);
      expect(await idsIn("acknowledgements", "incident_id")).toEqual([]);
    });

    it("stay for as long as they are open, whatever tells of them", async () => {
      const { store, idsIn, sql: execute } = await openIncidents();
      await execute(sql`delete from outbox_items`);
      await pruneAll(() => store.prune.incidents(Number.MAX_SAFE_INTEGER));
      expect(await idsIn("incidents", "id")).toEqual(["incident-2"]);
    });
  });
});
