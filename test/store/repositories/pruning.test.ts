import { sql } from "kysely";
import { describe, expect, it } from "vitest";
import { type Resolution, resolutions } from "../../../src/fleet/buckets.ts";
import { tally } from "../../alerts/support/recorder.ts";
import { bucketsIn, collect } from "../../support/collect.ts";
import { listing, watchFleet } from "../../support/fleet.ts";
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
    const servers = [tally("git", { idle: 1 })];
    for (const target of targets) {
      await target.pass(0, servers);
      for (let hour = 0; hour < 30; hour++) {
        await target.pass(hourMs, servers, { observed: hour % 2 === 1 });
      }
    }
    const { store } = recorded;
    const startsOf = async (resolution: Resolution) =>
      (await bucketsIn(store.occupancy, { resolution })).map(({ bucket }) => bucket.startMs);
    return { store, targets, startsOf, endMs: targets[0]?.recorder.atMs ?? 0 };
  }

  it("deletes buckets that ended before, of one resolution, a few at a time, but none that is open", async () => {
    const { store, startsOf } = await openTwoTargets();
    const before = await Promise.all(resolutions.map(startsOf));
    const boundMs = Date.UTC(2026, 10, 21, 9, 7);
    expect(await pruneAll(() => store.prune.buckets("5m", boundMs))).toBe(3);
    const [fives, hours, days] = await Promise.all(resolutions.map(startsOf));
    expect([hours, days]).toEqual(before.slice(1));
    expect(fives).toEqual(before[0]?.filter((startMs) => startMs + 300_000 > boundMs));
    await pruneAll(() => store.prune.buckets("1d", everMs));
    expect(new Set(await startsOf("1d"))).toEqual(new Set([Date.UTC(2026, 10, 21)]));
  });

  it("deletes gaps of each target that ended before", async () => {
    const { store, targets, endMs } = await openTwoTargets();
    await pruneAll(() => store.prune.gaps(endMs - 1.5 * hourMs));
    for (const { target } of targets) {
      const gaps = await collect(store.occupancy.gaps({ target, fromMs: 0, toMs: everMs }));
      expect(gaps).toEqual([{ fromMs: endMs - 2 * hourMs, toMs: endMs - hourMs }]);
    }
  });

  it("deletes changes from before, and then the sandboxes and servers that are gone", async () => {
    const { store, targetId, rows } = await openPollStore(engine);
    const { poll } = watchFleet();
    const none = { complete: true, sandboxes: [] };
    const polls = [listing({ a: "idle" }), listing({ a: "error" }), none, none];
    const verdicts = polls.map((each) => poll(each));
    for (const verdict of verdicts) await store.commitPoll(targetId, verdict);
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

  it("deletes incidents, with their receivers and acknowledgements, that were resolved before and have no items", async () => {
    const { store, targetId, rows, sql: execute } = await openPollStore(engine);
    const { poll } = watchFleet();
    for (const a of ["error", "idle", "error"] as const) {
      await store.commitPoll(targetId, poll(listing({ a })));
    }
    await execute(
      sql`insert into acknowledgements values ('incident-1', 'jo', null, 1, 1, null, null)`,
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
