import { sql } from "kysely";
import { describe, expect, it } from "vitest";
import type { Resolution } from "../../../src/fleet/buckets.ts";
import { bucketsIn } from "../../support/collect.ts";
import { listing, server, watchFleet } from "../../support/fleet.ts";
import { openRecorded } from "../support/recorded-targets.ts";
import { engines } from "../support/engines.ts";
import { openPollStore } from "../support/poll-store.ts";

const hourMs = 3_600_000;
const everMs = Number.MAX_SAFE_INTEGER;

/** @returns how many steps it took */
async function pruneAll(step: () => Promise<boolean>): Promise<number> {
  let steps = 1;
  while (await step()) steps += 1;
  return steps;
}

describe.each(engines)("pruning on $name", (engine) => {
  /** Two targets that were observed, and not, for an hour each; 30 hours in all. */
  async function openTwoTargets() {
    const recorded = await openRecorded(engine);
    const targets = [
      await recorded.add({ region: "us", key: "research" }),
      await recorded.add({ region: "eu", key: "support" }),
    ];
    const servers = listing({ a: "idle" });
    for (const target of targets) {
      await target.pass(0, servers);
      for (let hour = 0; hour < 30; hour++) {
        await target.pass(hourMs, servers, { observed: hour % 2 === 1 });
      }
    }
    const { store } = recorded;
    const startsOf = async (resolution: Resolution) =>
      (await bucketsIn(store.occupancy, { resolution })).map(({ bucket }) => bucket.startMs);
    while (await store.rollUp());
    return { store, targets, startsOf, endMs: targets[0]?.at.utcMs ?? 0 };
  }

  it("deletes hours and days that ended before, but not the last two days of hours, and says from when on they are kept", async () => {
    const { store, startsOf, endMs } = await openTwoTargets();
    const [hours, days] = [await startsOf("1h"), await startsOf("1d")];
    const boundMs = Date.UTC(2026, 10, 21, 9, 7);
    await pruneAll(() => store.prune.rollups("1h", boundMs, boundMs + 24 * hourMs));
    expect(await startsOf("1h")).toEqual(hours);
    await pruneAll(() => store.prune.rollups("1h", boundMs, boundMs + 48 * hourMs));
    expect((await store.occupancy.open()).keptFrom["1h"]).toBe(Date.UTC(2026, 10, 21, 10));
    const left = (await startsOf("1h")).filter((startMs) => startMs >= boundMs - hourMs);
    expect(left).toEqual(hours.filter((startMs) => startMs >= boundMs - hourMs));
    expect(await startsOf("1d")).toEqual(days);
    await pruneAll(() => store.prune.rollups("1d", endMs, endMs));
    expect((await store.occupancy.open()).keptFrom["1d"]).toBe(Date.UTC(2026, 10, 22));
  });

  it("deletes gaps of each target that ended before", async () => {
    const { store, targets, endMs } = await openTwoTargets();
    await pruneAll(() => store.prune.gaps(endMs - 1.5 * hourMs));
    const opened = await store.occupancy.open();
    for (const { target } of targets) {
      const gaps = await opened.gaps(target, { fromMs: 0, toMs: everMs });
      expect(gaps).toMatchObject([{ fromMs: endMs - 2 * hourMs, toMs: endMs - hourMs }]);
    }
  });

  it("deletes changes from before, and then the sandboxes and servers that are gone", async () => {
    const { store, targetId, rows } = await openPollStore(engine);
    const { poll } = watchFleet();
    const none = { complete: true, sandboxes: [] };
    const polls = [listing({ a: "idle" }), listing({ a: "error" }), none, none];
    const verdicts = polls.map((each) => poll(each));
    for (const verdict of verdicts) await store.commitPoll(targetId, verdict);
    const kept = await rows("changes");
    await pruneAll(() => store.prune.changes(everMs));
    // What is not rolled up is not deleted.
    expect(await rows("changes")).toEqual(kept);
    await store.commitPoll(targetId, poll(none, 3_600));
    while (await store.rollUp());
    const times = async (subject: "server" | "sandbox") =>
      (await rows("changes")).flatMap((row) => (row[subject] === null ? [] : [row["at_ms"]]));
    await pruneAll(() => store.prune.changes(verdicts[1]?.at.utcMs ?? 0));
    expect(await times("server")).toEqual(verdicts.slice(1).map(({ at }) => at.utcMs));
    // It is missing, and gone.
    expect(await times("sandbox")).toEqual(verdicts.slice(2).map(({ at }) => at.utcMs));
    for (const table of ["sandboxes", "servers"]) expect(await rows(table)).toHaveLength(1);
    await pruneAll(() => store.prune.changes(everMs));
    for (const table of ["sandboxes", "servers"]) expect(await rows(table)).toEqual([]);
  });

  it("deletes attributes that no change names any more, once those that named them are deleted", async () => {
    const { store, targetId, rows } = await openPollStore(engine);
    const { poll } = watchFleet();
    const show = (tag: string, seconds: number) => {
      const box = { id: "box", status: "idle", benchmark: "swe", createdAt: null } as const;
      const servers = [server("a", { status: "idle", tags: [tag] })];
      const listed = { complete: true, sandboxes: [{ ...box, servers }] };
      return store.commitPoll(targetId, poll(listed, seconds));
    };
    const tags = async () =>
      (await rows("value_sets")).map((row) => String(row["tags"])).toSorted();
    const daySeconds = 86_400;
    await show("x", 0);
    await show("y", 3_600);
    await show("z", 3 * daySeconds);
    await show("y", daySeconds);
    await show("y", daySeconds);
    const times = (await rows("changes")).map((row) => Number(row["at_ms"]));
    const atMs = Math.max(...times) + daySeconds * 1_000;
    // None of it is rolled up.
    await pruneAll(() => store.prune.changes(atMs));
    expect(await tags()).toEqual(['["x"]', '["y"]', '["z"]', "[]"]);
    while (await store.rollUp());
    await pruneAll(() => store.prune.changes(atMs - 2.5 * daySeconds * 1_000));
    expect(await tags()).toEqual(['["y"]', '["z"]']);
    await show("z", 3_600);
    while (await store.rollUp());
    await pruneAll(() => store.prune.changes(everMs));
    expect(await rows("changes")).toHaveLength(1);
  });

  it("deletes incidents, with their receivers and acknowledgements, that were resolved before and have no items", async () => {
    const { store, targetId, rows, sql: execute } = await openPollStore(engine);
    const { poll } = watchFleet();
    for (const a of ["error", "idle", "error"] as const) {
      await store.commitPoll(targetId, poll(listing({ a })));
    }
    await execute(
      sql`insert into acknowledgements values ('incident-1', 'jo', null, 1, null, null)`,
    );
    const left = async (beforeMs: number) => {
      await pruneAll(() => store.prune.incidents(beforeMs));
      const ids = (await rows("incidents")).map((row) => row["id"]);
      const receivers = (await rows("incident_receivers")).map((row) => row["incident_id"]);
      return [ids, receivers, (await rows("acknowledgements")).length];
    };
    const both = ["incident-1", "incident-2"];
    expect(await left(everMs)).toEqual([both, both, 1]);
    await execute(sql`delete from outbox_items`);
    expect(await left(0)).toEqual([both, both, 1]);
    expect(await left(everMs)).toEqual([["incident-2"], ["incident-2"], 0]);
  });
});
