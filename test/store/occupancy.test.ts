import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { noChanges } from "../../src/core/snapshot/changes.ts";
import type { Verdict } from "../../src/core/judge.ts";
import type { Target } from "../../src/core/model.ts";
import { resolutions } from "../../src/core/occupancy/bucket.ts";
import type { Resolution } from "../../src/core/occupancy/bucket.ts";
import type { EndedStay } from "../../src/core/occupancy/accounts.ts";
import { openDatabase } from "../../src/store/database.ts";
import { createStore } from "../../src/store/store.ts";
import type { Store } from "../../src/store/store.ts";
import type { BucketQuery } from "../../src/store/occupancy-history.ts";
import { createLedger, tally } from "../core/support/ledger.ts";
import { listing, watchFleet } from "../support/fleet.ts";

const minuteMs = 60_000;
const hourMs = 60 * minuteMs;
const dayMs = 24 * hourMs;

const always = { fromMs: 0, toMs: Number.MAX_SAFE_INTEGER };

async function collect<T>(items: AsyncIterable<T>): Promise<T[]> {
  const all: T[] = [];
  for await (const item of items) all.push(item);
  return all;
}

const bucketsOf = (store: Store, query: Partial<BucketQuery> & { resolution: Resolution }) =>
  collect(store.occupancy.buckets({ ...always, ...query }));

/** Targets whose time is booked in a store, and the same in a ledger that nothing was written of. */
async function openBooks() {
  const database = openDatabase(":memory:");
  let store = createStore(database.kysely, () => database.close());
  const verdict = watchFleet().poll(listing({}));

  const book = async (target: Target) => {
    const { id } = await store.targets.add(target);
    const ledger = createLedger();
    return {
      target,
      ledger,
      async pass(...stretch: Parameters<typeof ledger.pass>): Promise<void> {
        const [elapsedMs, tallies, { observed = true } = {}] = stretch;
        const accounting = ledger.pass(...stretch);
        const at = { utcMs: ledger.atMs, monotonicMs: 0 };
        const progress = { ...verdict.progress, lastPollAtMs: ledger.atMs };
        const booking: Verdict["booking"] = { elapsedMs, observed, tallies };
        await store.commitPoll(id, {
          ...verdict,
          at,
          progress,
          booking,
          accounting,
          pages: null,
          changes: noChanges,
        });
      },
      /** What the store has of it is what goes on. */
      async restart(): Promise<void> {
        store = createStore(database.kysely, () => database.close());
        const stored = (await store.targets.all()).find((each) => each.id === id);
        ledger.goOn(stored?.accounts);
      },
    };
  };
  return {
    book,
    get store() {
      return store;
    },
    [Symbol.asyncDispose]: () => store.close(),
  };
}

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
    elapsedMs: fc.oneof(fc.nat(90_000), fc.nat(2 * hourMs), fc.constantFrom(5 * minuteMs, hourMs)),
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
  restarts: fc.boolean(),
  ofFirst: fc.boolean(),
  servers: fc.dictionary(fc.constantFrom("git", "jira", "\ud800", "沙箱"), counts),
  missing: fc.nat(2),
  stays: fc.array(
    fc.record<EndedStay>({
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
        await using books = await openBooks();
        const targets = [await books.book(research), await books.book(support)];
        for (const { passing: passed, servers, missing, restarts, ofFirst, ...more } of played) {
          const { elapsedMs, observed } = passed;
          const target = targets[ofFirst ? 0 : 1];
          const tallies = Object.entries(servers).map(([name, each]) => tally(name, each, missing));
          if (restarts) await target?.restart();
          await target?.pass(elapsedMs, tallies, { ...more, observed });
        }
        for (const resolution of resolutions) {
          const expected = targets
            .flatMap(({ target, ledger }) =>
              ledger.whole(resolution).map((bucket) => ({ target, bucket })),
            )
            .toSorted((one, other) => one.bucket.startMs - other.bucket.startMs);
          expect(await bucketsOf(books.store, { resolution })).toEqual(expected);
        }
      }),
      { numRuns: 40 },
    );
  });
});
