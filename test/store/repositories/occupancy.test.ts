import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { isEmptyBucket, mergeNames, resolutions } from "../../../src/fleet/buckets.ts";
import type { Store } from "../../../src/store/store.ts";
import { engines } from "../support/engines.ts";
import { ledgerStartMs, tally } from "../../alerts/support/ledger.ts";
import type { EndedDwell } from "../../support/ended-dwells.ts";
import type { Status } from "../../../src/fleet/model.ts";
import { server, watchFleet } from "../../support/fleet.ts";
import { openPollStore } from "../support/poll-store.ts";
import { openBooks } from "../support/books.ts";
import { bucketsIn } from "../../support/collect.ts";
import type { BucketQuery } from "../../support/collect.ts";
import { addTarget } from "../../support/add-target.ts";
import type { Listing } from "../../support/listing.ts";

describe.each(engines)("on $name", (engine) => {
  const minuteMs = 60_000;
  const hourMs = 60 * minuteMs;
  const dayMs = 24 * hourMs;

  const always = { fromMs: 0, toMs: Number.MAX_SAFE_INTEGER };

  const bucketsOf = (store: Store, query: BucketQuery) => bucketsIn(store.occupancy, query);

  const research = { region: "us", key: "research" };
  const support = { region: "eu", key: "support" };

  const counts = fc.record({
    idle: fc.nat(3),
    occupied: fc.nat(3),
    error: fc.nat(1),
    unknown: fc.nat(1),
  });
  const passing = fc.oneof(
    fc.record({
      observed: fc.boolean(),
      elapsedMs: fc.oneof(
        fc.nat(90_000),
        fc.nat(2 * hourMs),
        fc.constantFrom(5 * minuteMs, hourMs),
      ),
    }),
    fc.record({
      observed: fc.constant(false),
      elapsedMs: fc.oneof(fc.nat(3 * dayMs), fc.constantFrom(100_000, hourMs, dayMs)),
    }),
  );
  const stretch = fc.record({
    passing,
    steppedMs: fc.oneof(
      { weight: 9, arbitrary: fc.constant(0) },
      { weight: 1, arbitrary: fc.integer({ min: -hourMs, max: hourMs }) },
    ),
    /** How often the same goes on afterwards. */
    again: fc.nat(3),
    restarts: fc.boolean(),
    ofFirst: fc.boolean(),
    servers: fc.dictionary(fc.constantFrom("git", "jira", "other", "沙箱"), counts),
    missing: fc.nat(2),
    dwells: fc.array(
      fc.record<EndedDwell>({
        serverName: fc.constantFrom("git", "jira"),
        status: fc.constantFrom("idle", "occupied"),
        ms: fc.nat(1e9),
      }),
      { maxLength: 2 },
    ),
  });

  describe("what was booked", () => {
    it("is read at every resolution as it was, whatever happened and however often it was restarted", async () => {
      await fc.assert(
        fc.asyncProperty(fc.array(stretch, { maxLength: 15 }), async (played) => {
          await using books = await openBooks(engine);
          const targets = [await books.book(research), await books.book(support)];
          for (const {
            passing: passed,
            servers,
            missing,
            restarts,
            ofFirst,
            again,
            ...more
          } of played) {
            const { elapsedMs, observed } = passed;
            const target = targets[ofFirst ? 0 : 1];
            const tallies = Object.entries(servers).map(([name, each]) =>
              tally(name, each, missing),
            );
            if (restarts) await target?.restart();
            await target?.pass(elapsedMs, tallies, { ...more, observed });
            for (let time = 0; time < again; time++) {
              await target?.pass(Math.min(elapsedMs, 60_000), tallies, { observed });
            }
          }
          for (const resolution of resolutions) {
            const expected = targets
              .flatMap(({ target, ledger }) =>
                ledger
                  .whole(resolution)
                  .filter((bucket) => !isEmptyBucket(bucket))
                  .map((bucket) => ({ target, bucket })),
              )
              .toSorted((one, other) => one.bucket.startMs - other.bucket.startMs);
            expect(await bucketsOf(books.store, { resolution })).toEqual(expected);
            expect(await bucketsOf(books.store, { resolution, byName: false })).toEqual(
              expected.map(({ target, bucket }) => ({ target, bucket: mergeNames(bucket) })),
            );
          }
        }),
        { numRuns: engine.runs(40) },
      );
    });
  });

  const git = [tally("git", { idle: 2 })];
  const minutesAfter = (minutes: number): number => ledgerStartMs + minutes * minuteMs;
  const startsOf = (found: Awaited<ReturnType<typeof bucketsOf>>) =>
    found.map(({ target, bucket }) => [
      target.key,
      new Date(bucket.startMs).toISOString().slice(11, 16),
    ]);

  it("names are what they are after a poll that was not kept, whoever names servers next", async () => {
    const { store, targetId } = await openPollStore(engine);
    const other = await addTarget(store, support);
    const named = (name: string, status: Status): Listing => ({
      complete: true,
      sandboxes: [
        {
          id: "box",
          status: "idle",
          benchmark: null,
          servers: [server("a", { name, status })],
        },
      ],
    });
    const [us, eu] = [watchFleet(), watchFleet(support)];
    await store.commitPoll(targetId, us.poll(named("git", "idle")));
    await store.commitPoll(other.id, eu.poll(named("jira", "idle")));
    const verdict = us.poll(named("git", "occupied"));
    const spoilt = { ...verdict, at: { ...verdict.at, utcMs: 0.5 } };
    await expect(store.commitPoll(targetId, spoilt)).rejects.toThrow(
      /cannot store REAL value|invalid input syntax/,
    );
    await store.commitPoll(other.id, eu.poll(named("jira", "idle")));
    await store.commitPoll(targetId, verdict);
    const days = await bucketsOf(store, { resolution: "1d" });
    expect(days.map(({ bucket }) => [...bucket.names.keys()])).toEqual([["git"], ["jira"]]);
  });

  describe("buckets", () => {
    it("keep their names when the first poll after a restart comes in the same millisecond", async () => {
      await using books = await openBooks(engine);
      const target = await books.book(research);
      await target.pass(0, git);
      await target.pass(minuteMs, git);
      await target.restart();
      await target.pass(0, git);
      await target.restart();
      const [found] = await bucketsOf(books.store, { resolution: "5m" });
      expect([...(found?.bucket.names.keys() ?? [])]).toEqual(["git"]);
    });

    it.each(resolutions)(
      "of %s hold once what passed, though in a day that a clock set back made come to 24 hours",
      async (resolution) => {
        await using books = await openBooks(engine);
        const target = await books.book(research);
        await target.pass(0, git);
        await target.pass(0, git, { steppedMs: -(ledgerStartMs % dayMs) });
        await target.pass(dayMs, git, { observed: false });
        const found = await bucketsOf(books.store, { resolution });
        const recordedMs = found.map(({ bucket }) => bucket.recordedMs);
        expect(recordedMs.reduce((sum, each) => sum + each, 0)).toBe(dayMs);
      },
    );

    it("are closed with all that they held where the clock is set forward past their end", async () => {
      await using books = await openBooks(engine);
      const target = await books.book(research);
      await target.pass(0, git);
      await target.pass(50_000, git);
      await target.pass(minuteMs, git, { steppedMs: hourMs });
      const found = await bucketsOf(books.store, { resolution: "5m" });
      expect(found.map(({ bucket }) => [bucket.startMs, bucket.recordedMs])).toEqual([
        [ledgerStartMs - 200_000, 50_000],
        [ledgerStartMs - 200_000 + hourMs, 50_000],
        [ledgerStartMs + 100_000 + hourMs, 10_000],
      ]);
    });

    it("have the dwell times that ended as they began", async () => {
      await using books = await openBooks(engine);
      const target = await books.book(research);
      await target.pass(0, git);
      const dwells = [{ serverName: "git", status: "occupied", ms: 5_000 }] as const;
      await target.pass(100_000, git, { dwells: [...dwells] });
      const found = await bucketsOf(books.store, { resolution: "5m" });
      expect(found.map(({ bucket }) => bucket.names.get("git")?.dwells.sumMs)).toEqual([0, 5_000]);
    });

    it("are by start, then by target, and those of an hour have what its last minutes brought", async () => {
      await using books = await openBooks(engine);
      const first = await books.book(research);
      const second = await books.book(support);
      for (const target of [second, first, second, first]) await target.pass(0, git);
      await first.pass(3 * minuteMs, git);
      await second.pass(2 * minuteMs, git);
      await first.pass(2 * minuteMs, git);
      const hours = await bucketsOf(books.store, { resolution: "1h" });
      expect(startsOf(hours)).toEqual([
        ["research", "09:00"],
        ["support", "09:00"],
        ["research", "10:00"],
        ["support", "10:00"],
      ]);
      expect(hours.map(({ bucket }) => bucket.recordedMs)).toEqual([
        100_000, 100_000, 200_000, 20_000,
      ]);
    });

    it("are those that start in the range, of the regions and keys that are asked for", async () => {
      await using books = await openBooks(engine);
      const targets = [await books.book(research), await books.book(support)];
      for (const target of targets) {
        await target.pass(0, git);
        await target.pass(20 * minuteMs, git);
      }
      const range = { resolution: "5m", fromMs: minutesAfter(2), toMs: minutesAfter(11) } as const;
      const ofSupport = [["support", "10:05"]];
      expect(startsOf(await bucketsOf(books.store, { ...range, region: ["eu"] }))).toEqual(
        ofSupport,
      );
      expect(startsOf(await bucketsOf(books.store, { ...range, key: ["support"] }))).toEqual(
        ofSupport,
      );
      const crossed = { ...range, region: ["eu"], key: ["research"] };
      expect(await bucketsOf(books.store, crossed)).toEqual([]);
      expect(await bucketsOf(books.store, { ...range, key: [] })).toEqual([]);
    });

    it("are none before the history began, after its end, and in a range without time", async () => {
      await using books = await openBooks(engine);
      const target = await books.book(research);
      await target.pass(0, git);
      await target.pass(minuteMs, git);
      for (const [fromMs, toMs] of [
        [0, minutesAfter(-5)],
        [minutesAfter(6), Number.MAX_SAFE_INTEGER],
        [minutesAfter(1), minutesAfter(1)],
        [minutesAfter(9), minutesAfter(-9)],
      ] as const) {
        expect(await bucketsOf(books.store, { resolution: "5m", fromMs, toMs })).toEqual([]);
      }
    });

    it("are each given once where one is closed while they are read", async () => {
      await using books = await openBooks(engine);
      const target = await books.book(research);
      await target.pass(0, git);
      await target.pass(26 * hourMs, git);
      const starts: number[] = [];
      const { store } = books;
      const { buckets } = await store.occupancy.open();
      for await (const some of buckets({ ...always, resolution: "5m" })) {
        if (starts.length === 0) await target.pass(10 * minuteMs, git);
        for (const { bucket } of some) starts.push(bucket.startMs);
      }
      const steps = starts.slice(1).map((start, index) => start - (starts[index] ?? 0));
      expect(new Set(steps)).toEqual(new Set([5 * minuteMs]));
    });
  });

  describe("the extents", () => {
    it("are the first and the last start of what is kept of each target", async () => {
      await using books = await openBooks(engine);
      const target = await books.book(research);
      await books.book(support);
      await target.pass(0, git);
      await target.pass(20 * minuteMs, git);
      const at = (text: string): number => Date.parse(`2026-11-20T${text}Z`);
      expect((await books.store.occupancy.open()).extents).toEqual([
        { target: research, resolution: "5m", firstMs: at("09:55:00"), lastMs: at("10:15:00") },
        { target: research, resolution: "1h", firstMs: at("09:00:00"), lastMs: at("10:00:00") },
        { target: research, resolution: "1d", firstMs: at("00:00:00"), lastMs: at("00:00:00") },
      ]);
    });
  });
});
