import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { firstOf } from "../../src/platform/first-of.ts";
import { allTime } from "../../src/store/change-history.ts";
import type { ChangeQuery, StoredChange } from "../../src/store/change-history.ts";
import { listing, research, startMs, watchFleet } from "../support/fleet.ts";
import { openPollStore } from "./support/poll-store.ts";
import type { PollStore } from "./support/poll-store.ts";
import { addTarget } from "../support/add-target.ts";

const other = { region: "eu", key: "evals" };
const uuids = [1, 2, 3].map((number) => `0a1b2c3d-4e5f-4071-8293-00000000000${number}`);
const ids = [...uuids, "plain"];

/** What is seen of each server, and how wrong the clock is. */
interface Step {
  readonly isOther: boolean;
  /** Since the poll before of that target. */
  readonly seconds: number;
  readonly offSeconds: number;
  readonly servers: readonly ("idle" | "error" | null)[];
}

const steps: fc.Arbitrary<readonly Step[]> = fc.array(
  fc.record({
    isOther: fc.boolean(),
    seconds: fc.integer({ min: 0, max: 90 }),
    offSeconds: fc.oneof(
      { weight: 3, arbitrary: fc.constant(0) },
      { weight: 1, arbitrary: fc.integer({ min: -2_000, max: 2_000 }) },
      { weight: 1, arbitrary: fc.integer({ min: -200_000, max: 200_000 }) },
    ),
    servers: fc.tuple(...ids.map(() => fc.constantFrom("idle", "error", null))),
  }),
  { minLength: 1, maxLength: 40 },
);

async function openWorld(world: readonly Step[]): Promise<PollStore> {
  const opened = await openPollStore();
  const { id } = await addTarget(opened.store, other);
  const fleets = {
    us: { targetId: opened.targetId, fleet: watchFleet(research) },
    eu: { targetId: id, fleet: watchFleet(other) },
  };
  for (const { isOther, seconds, offSeconds, servers } of world) {
    const { targetId, fleet } = isOther ? fleets.eu : fleets.us;
    const seen = servers.flatMap((status, index) => (status ? [[ids[index], status]] : []));
    const verdict = fleet.poll(listing(Object.fromEntries(seen)), seconds);
    const at = { ...verdict.at, utcMs: verdict.at.utcMs + offSeconds * 1_000 };
    await opened.store.commitPoll(targetId, { ...verdict, at });
  }
  return opened;
}

/** One server that changes each time. */
function turns(seconds: readonly number[]): readonly Step[] {
  return seconds.map((each, index) => ({
    isOther: false,
    seconds: each,
    offSeconds: 0,
    servers: [index % 2 === 0 ? "idle" : "error", null, null, null],
  }));
}

function all({ store }: PollStore, query: Partial<ChangeQuery> = {}) {
  return firstOf(store.changes.between({ ...allTime, direction: "asc", ...query }), 10_000);
}

async function allAfter(
  { store }: PollStore,
  place: string,
  atOnce: number,
): Promise<readonly StoredChange[]> {
  const found: StoredChange[] = [];
  for (let cursor = place; ;) {
    const some = await store.changes.after(cursor, { lapses: true }, atOnce);
    found.push(...some.changes);
    if (some.changes.length < atOnce) return found;
    cursor = some.cursor;
  }
}

const sizes = fc.record({
  bundled: fc.integer({ min: 1, max: 12 }),
  loose: fc.integer({ min: 0, max: 9 }),
});

describe("changes in bundles", () => {
  it("are told as those that are not, in every order, from every place, whatever the clock did", async () => {
    const queries = fc.record({
      direction: fc.constantFrom("asc" as const, "desc" as const),
      lapses: fc.boolean(),
      server: fc.constantFrom(undefined, uuids[0], "0a1b2c3d-4e5f-4071-8293", "pl", "github", "no"),
      region: fc.constantFrom(undefined, ["us"], ["nowhere"]),
      name: fc.constantFrom(undefined, ["github"], ["no"]),
      fromMs: fc.constantFrom(allTime.fromMs, startMs + 60_000, startMs + 20_000_000),
      toMs: fc.constantFrom(allTime.toMs, startMs + 600_000),
    });
    const asked = fc.array(fc.tuple(queries, fc.option(fc.nat()), fc.option(fc.nat())), {
      minLength: 1,
      maxLength: 6,
    });
    const arbitraries = [steps, sizes, fc.integer({ min: 0, max: 60 }), asked, fc.nat()] as const;
    await fc.assert(
      fc.asyncProperty(...arbitraries, async (world, size, many, asking, atOnce) => {
        const opened = await openWorld(world);
        const everything = await all(opened, { lapses: true });
        const placeOf = (index: number | null): string | undefined =>
          index === null ? undefined : everything[index % everything.length]?.cursor;
        const tell = async (): Promise<unknown> => {
          const told: unknown[] = [await opened.store.changes.newest()];
          for (const [query, from, upTo] of asking) {
            const [cursor, keptUpTo] = [placeOf(from), placeOf(upTo)];
            told.push(await all(opened, { ...query, cursor, keptUpTo }));
            if (cursor) told.push(await allAfter(opened, cursor, 1 + (atOnce % 7)));
          }
          return told;
        };
        const loose = await tell();
        await opened.bundle(size, many);
        expect(await tell()).toEqual(loose);
        await opened.bundle(size);
        expect(await tell()).toEqual(loose);
      }),
      { numRuns: 40 },
    );
  });

  it("are told to whoever was reading when they came into them", async () => {
    const world = Array.from({ length: 80 }, (_, index) => ({
      isOther: index % 3 === 0,
      seconds: 10,
      offSeconds: 0,
      servers: ids.map((_id, at) => ((index + at) % 2 === 0 ? "idle" : "error")),
    }));
    for (const direction of ["asc", "desc"] as const) {
      for (const before of [1, 100]) {
        const opened = await openWorld(world);
        const expected = await all(opened, { direction });
        await opened.bundle({ bundled: 20, loose: 200 });
        const told: StoredChange[] = [];
        for await (const change of opened.store.changes.between({ ...allTime, direction })) {
          told.push(change);
          if (told.length === before) await opened.bundle({ bundled: 30, loose: 0 });
        }
        expect(told).toEqual(expected);
        expect((await opened.rows("change_bundles")).length).toBeGreaterThan(5);
        expect((await opened.rows("changes")).length).toBeLessThan(30);
      }
    }
  });

  it("leave the table that they were in, but for the latest", async () => {
    const opened = await openWorld(turns(Array<number>(30).fill(30)));
    await opened.bundle({ bundled: 10, loose: 9 });
    const rows = async (table: string, column: string) =>
      (await opened.rows(table)).map((row) => row[column]);
    expect(await rows("change_bundles", "first_row")).toEqual([1, 11]);
    expect(await rows("change_bundles", "last_row")).toEqual([10, 20]);
    expect(await rows("changes", "id")).toEqual([21, 22, 23, 24, 25, 26, 27, 28, 29, 30]);
    await opened.bundle({ bundled: 1, loose: 0 });
    expect(await rows("changes", "id")).toEqual([30]);
  });

  it("are not together with those of another day, so that all of a bundle grows old at once", async () => {
    const opened = await openWorld(turns([0, 86_000, 1_000, 1_000, 90_000]));
    await opened.bundle({ bundled: 3, loose: 0 });
    const times = (await opened.rows("change_bundles")).map((row) => [
      row["first_at_ms"],
      row["last_at_ms"],
    ]);
    const first = times[0]?.[0];
    expect(first).toBeTypeOf("number");
    expect(times).toEqual([
      [first, Number(first) + 86_000_000],
      [Number(first) + 87_000_000, Number(first) + 88_000_000],
    ]);
  });

  it("go once all of a bundle is from before", async () => {
    const opened = await openWorld(turns(Array<number>(10).fill(30)));
    await opened.bundle({ bundled: 4, loose: 0 });
    const everything = await all(opened);
    for (const [before, left] of [
      [3, 10],
      [4, 6],
      [9, 1],
      [10, 0],
    ] as const) {
      const boundMs = everything[before]?.atMs ?? allTime.toMs;
      while (await opened.store.prune.changes(boundMs));
      expect(await all(opened)).toEqual(everything.slice(10 - left));
    }
  });

  it("are where one goes on, also when all that came after them went before they do", async () => {
    const world = turns(Array<number>(6).fill(30));
    const opened = await openWorld(
      world.map((step, index) => ({ ...step, offSeconds: index === 5 ? -100_000 : 0 })),
    );
    await opened.bundle({ bundled: 5, loose: 0 });
    const { changes, prune } = opened.store;
    while (await prune.changes(startMs));
    expect(await opened.rows("changes")).toEqual([]);
    const left = await all(opened);
    expect(left).toHaveLength(5);
    const later = await changes.after(left[2]?.cursor ?? "", {}, 9);
    expect(later.changes).toEqual(left.slice(3));
    expect(await changes.after(later.cursor, {}, 9)).toEqual({ ...later, changes: [] });
    expect(await changes.newest()).toBe(later.cursor);
  });

  it("take a fraction of the room", async () => {
    const world = Array.from({ length: 400 }, (_, index) => ({
      isOther: index % 2 === 0,
      seconds: 7 + (index % 13),
      offSeconds: 0,
      servers: ids.map((_id, at) => ((index >> at) % 2 === 0 ? "idle" : "error")),
    }));
    const opened = await openWorld(world);
    const changes = (await all(opened)).length;
    await opened.bundle({ bundled: changes - 1, loose: 0 });
    const [bundle] = await opened.rows("change_bundles");
    const body = bundle?.["body"];
    expect(body).toBeInstanceOf(Uint8Array);
    expect(body instanceof Uint8Array && body.length / changes).toBeLessThan(15);
  });
});
