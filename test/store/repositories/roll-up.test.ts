import { sql, type Kysely, type KyselyPlugin } from "kysely";
import { describe, expect, it } from "vitest";
import { countedKinds, resolutions } from "../../../src/fleet/buckets.ts";
import { createStore, type Store } from "../../../src/store/store.ts";
import type { Tables } from "../../../src/store/tables.ts";
import { bucketsIn } from "../../support/collect.ts";
import { listing } from "../../support/fleet.ts";
import { engines, type Engine } from "../support/engines.ts";
import { openRecorded, recordingStartMs } from "../support/recorded-targets.ts";

const hourMs = 3_600_000;
const everMs = Number.MAX_SAFE_INTEGER;
const us = { region: "us", key: "research" };
const eu = { region: "eu", key: "support" };
const byQuarter = { isByQuarter: true };

/** All that reports read, whatever is counted. */
async function read({ occupancy }: Store, wanted = resolutions.filter((each) => each !== "15m")) {
  const all = wanted.flatMap((resolution) =>
    countedKinds.map((counted) => bucketsIn(occupancy, { resolution, counted })),
  );
  return (await Promise.all(all)).map((some) =>
    some.map(({ target, bucket }) => ({ target, ...bucket, names: new Map(bucket.names) })),
  );
}

async function open(engine: Engine) {
  const opened = await engine.open();
  const { add, store } = await openRecorded({ ...engine, open: async () => opened });
  return { add, store, ...opened };
}
type World = Awaited<ReturnType<typeof open>>;

/** What happens to some targets for as many hours: servers come, go and change, and polls fail. */
async function pass({ add }: World, hours: number) {
  const targets = [await add(us), await add(eu)];
  for (const target of targets) await target.pass(0, listing({ a: "idle", b: "idle" }));
  for (let hour = 0; hour < hours; hour += 1) {
    for (const [at, target] of targets.entries()) {
      const a = (hour + at) % 2 === 0 ? "occupied" : "idle";
      const seen = hour % 7 === 3 ? listing({ a, b: "error" }) : listing({ a });
      await target.pass(0.6 * hourMs, hour % 5 === 4 ? "failed" : seen);
      await target.pass(0.4 * hourMs, listing({ a: "idle", b: "idle" }));
    }
  }
  return targets;
}

async function rolledUpRows(kysely: Kysely<Tables>) {
  const { rows } = await sql`
    select rollups.*, value from rollups join counted_values on counted_values.id = value_id
    order by counted, resolution, start_at_ms, target_id, value
  `.execute(kysely);
  return rows.map((row) => ({ ...Object(row), value_id: null }));
}

/** Of a process that is killed when it has executed as many statements. */
function killedAfter(statements: number): KyselyPlugin {
  let left = statements;
  const execute = (): void => {
    if (left === 0) throw new Error("killed");
    left -= 1;
  };
  return {
    transformQuery({ node }) {
      execute();
      return node;
    },
    async transformResult({ result }) {
      execute();
      return result;
    },
  };
}

describe.each(engines)("rolling up on $name", (engine) => {
  it("stores hours and the day that ends with them as a whole, or not at all where it is killed", async () => {
    const world = await open(engine);
    await pass(world, 16);
    const derived = await read(world.store);
    // The last hour of the day is due.
    for (let hour = 0; hour < 14; hour += 1) await world.store.rollUp(byQuarter);
    const before = await rolledUpRows(world.kysely);
    let statements = 0;
    for (; ; statements += 1) {
      const killed = createStore(world.kysely.withPlugin(killedAfter(statements)), world.close);
      const isDone = await killed.rollUp(byQuarter).catch(() => null);
      if (isDone !== null) break;
      expect(await rolledUpRows(world.kysely)).toEqual(before);
    }
    expect(statements).toBeGreaterThan(20);
    const days = (await rolledUpRows(world.kysely)).filter((row) => row.resolution === "1d");
    expect(days.length).toBeGreaterThan(0);
    while (await world.store.rollUp(byQuarter));
    expect(await read(world.store)).toEqual(derived);
  });

  it("catches up with days, hour by hour, while reports say the same", async () => {
    const world = await open(engine);
    await pass(world, 36);
    const derived = await read(world.store);
    let steps = 0;
    for (let hasMore = true; hasMore;) {
      for (let step = 0; step < 15 && hasMore; step += 1, steps += 1) {
        hasMore = await world.store.rollUp();
      }
      expect(await read(world.store)).toEqual(derived);
    }
    expect(steps).toBe(37);
  });

  it("does the same where it runs twice at once, and where it runs again", async () => {
    const [once, twice] = [await open(engine), await open(engine)];
    for (const world of [once, twice]) await pass(world, 30);
    while (await once.store.rollUp(byQuarter));
    const all = async (): Promise<void> => {
      while (await twice.store.rollUp(byQuarter));
    };
    await Promise.all([all(), all()]);
    const rows = await rolledUpRows(twice.kysely);
    expect(rows).toEqual(await rolledUpRows(once.kysely));
    // As if it had been restored from a backup of an earlier moment.
    const earlierMs = Math.ceil(recordingStartMs / hourMs) * hourMs;
    await sql`update targets set rolled_up_to_ms = ${earlierMs}`.execute(twice.kysely);
    await all();
    expect(await rolledUpRows(twice.kysely)).toEqual(rows);
  });

  it("is not repeated while a clock that was set back catches up, and loses nothing of it", async () => {
    const [rolled, other] = [await open(engine), await open(engine)];
    for (const world of [rolled, other]) {
      const [first] = await pass(world, 5);
      const rollUp = async () => world === rolled && (await world.store.rollUp());
      while (await rollUp());
      const rows = await rolledUpRows(world.kysely);
      await first?.pass(0.2 * hourMs, listing({ a: "occupied" }), { steppedMs: -3 * hourMs });
      for (let quarter = 0; quarter < 8; quarter += 1) {
        const a = quarter % 2 === 0 ? "error" : "idle";
        await first?.pass(0.25 * hourMs, listing({ a, b: "idle" }));
        expect(await rollUp()).toBe(false);
      }
      expect(await rolledUpRows(world.kysely)).toEqual(rows);
      await first?.pass(3 * hourMs, listing({ a: "idle", b: "idle" }));
      while (await rollUp());
    }
    expect(await read(rolled.store)).toEqual(await read(other.store));
  });

  it("passes over a target while it is forgotten, and leaves nothing of it", async () => {
    const world = await open(engine);
    await pass(world, 40);
    for (let step = 0; step < 10; step += 1) await world.store.rollUp();
    const all = await read(world.store);
    let isComplete = false;
    while (!isComplete) {
      ({ isComplete } = await world.store.forgetting.forget("support", () => false));
      await world.store.rollUp();
      const { recorded } = await world.store.occupancy.open();
      expect(recorded.map(({ target }) => target)).toEqual([us]);
    }
    while (await world.store.rollUp());
    const rows = await rolledUpRows(world.kysely);
    expect(new Set(rows.map((row) => row.target_id)).size).toBe(1);
    expect(await read(world.store)).toEqual(
      all.map((some) => some.filter(({ target }) => target.key === "research")),
    );
  });

  it("comes before anything is deleted, however old that is: hours and days stay what they were", async () => {
    const world = await open(engine);
    await pass(world, 50);
    const derived = await read(world.store, ["1h", "1d"]);
    const prune = async (): Promise<void> => {
      while (await world.store.prune.changes(everMs));
      while (await world.store.prune.gaps(everMs));
    };
    const count = async (table: "changes" | "gaps"): Promise<number> =>
      (await world.kysely.selectFrom(table).selectAll().execute()).length;
    const counts = [await count("changes"), await count("gaps")];
    await prune();
    expect([await count("changes"), await count("gaps")]).toEqual(counts);
    while (await world.store.rollUp()) await prune();
    expect(await read(world.store, ["1h", "1d"])).toEqual(derived);
    // What is left is of the hour that is not over.
    expect(await count("gaps")).toBeLessThan(4);
    expect(await count("changes")).toBeLessThan(10);
  });

  it("keeps the hours from which it goes on, also after a stop that was longer than they are kept", async () => {
    const { add, store } = await open(engine);
    const target = await add(us);
    const occupied = listing({ a: "occupied" });
    for (const hours of [0, 5]) await target.pass(hours * hourMs, occupied);
    while (await store.rollUp());
    await target.pass(300 * hourMs, occupied, { observed: false });
    const nowMs = target.at.utcMs;
    do while (await store.prune.rollups("1h", nowMs - 48 * hourMs, nowMs));
    while (await store.rollUp());
    await target.pass(2 * hourMs, occupied);
    while (await store.rollUp());
    const last = (await bucketsIn(store.occupancy, { resolution: "1h" })).at(-1);
    expect([...(last?.bucket.names.values() ?? [])]).toMatchObject([
      { ms: { occupied: 3_500_000 } },
    ]);
  });

  it("by quarters begins where it was turned on, and what was rolled up without them says so", async () => {
    const world = await open(engine);
    const targets = await pass(world, 15);
    for (const target of targets) {
      await target.pass(3.2 * hourMs, "failed");
      await target.pass(11.8 * hourMs, listing({ a: "error", b: "idle" }));
    }
    const derived = await read(world.store);
    for (let step = 0; step < 10; step += 1) await world.store.rollUp();
    const firstMs = Math.floor(recordingStartMs / hourMs) * hourMs;
    const quartersFrom = async () => (await world.store.occupancy.open()).keptFrom["15m"];
    for (let step = 0; step < 10; step += 1) await world.store.rollUp(byQuarter);
    // While changes are kept, quarters of an hour are derived from them.
    expect(await quartersFrom()).toBe(-Infinity);
    const since = { resolution: "15m", fromMs: firstMs + 10 * hourMs } as const;
    const quarters = await bucketsIn(world.store.occupancy, since);
    expect(await read(world.store)).toEqual(derived);
    while (await world.store.prune.changes(everMs));
    expect(await quartersFrom()).toBe(firstMs + 10 * hourMs);
    const kept = (await bucketsIn(world.store.occupancy, since)).slice(0, 80);
    expect(kept).toEqual(quarters.slice(0, 80));
    // Also from within hours that were unobserved.
    for (let fromMs = firstMs + 14 * hourMs; fromMs < firstMs + 20 * hourMs; fromMs += hourMs / 4) {
      const found = await bucketsIn(world.store.occupancy, { resolution: "15m", fromMs });
      const expected = quarters.filter(({ bucket }) => bucket.startMs >= fromMs);
      expect(found.slice(0, 8)).toEqual(expected.slice(0, 8));
    }
    // Turned off again.
    await world.store.rollUp();
    expect(await quartersFrom()).toBe(firstMs + 21 * hourMs);
  });
});
