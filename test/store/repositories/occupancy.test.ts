import { describe, expect, it } from "vitest";
import { bucketStart, resolutions } from "../../../src/fleet/buckets.ts";
import type { Status } from "../../../src/fleet/model.ts";
import { addTarget } from "../../support/add-target.ts";
import { type BucketQuery, bucketsIn } from "../../support/collect.ts";
import { listing, server, watchFleet } from "../../support/fleet.ts";
import { openRecorded, recordingStartMs } from "../support/recorded-targets.ts";
import { freshStoreFile } from "../../support/fresh-store.ts";
import { createOccupancyHistory } from "../../../src/store/occupancy-history.ts";
import { openDatabase } from "../../../src/store/sqlite/database.ts";
import { engines, sqlite } from "../support/engines.ts";
import { openPollStore } from "../support/poll-store.ts";

const minuteMs = 60_000;
const hourMs = 60 * minuteMs;
const dayMs = 24 * hourMs;
const research = { region: "us", key: "research" };
const support = { region: "eu", key: "support" };
const git = listing({ a: "idle", b: "idle" });

describe.each(engines)("buckets on $name", (engine) => {
  it("have the right names after a poll that was not stored", async () => {
    const { store, targetId } = await openPollStore(engine);
    const other = await addTarget(store, support);
    const named = (name: string, status: Status) => {
      const box = { id: "box", status: "idle", benchmark: null, createdAt: null } as const;
      return { complete: true, sandboxes: [{ ...box, servers: [server("a", { name, status })] }] };
    };
    const [us, eu] = [watchFleet(), watchFleet(support)];
    await store.commitPoll(targetId, us.poll(named("git", "idle")));
    await store.commitPoll(other.id, eu.poll(named("jira", "idle")));
    const verdict = us.poll(named("git", "occupied"));
    const progress = { ...verdict.progress, lastPollAtMs: 0.5 };
    const spoilt = { ...verdict, progress };
    await expect(store.commitPoll(targetId, spoilt)).rejects.toThrow(
      /cannot store REAL value|invalid input syntax/,
    );
    await store.commitPoll(other.id, eu.poll(named("jira", "idle")));
    await store.commitPoll(targetId, verdict);
    const days = await bucketsIn(store.occupancy, { resolution: "1d" });
    expect(days.map(({ bucket }) => [...bucket.names.keys()])).toEqual([["git"], ["jira"]]);
  });

  it("hold no time twice: while the clock that was set back catches up, nothing is recorded", async () => {
    await using recorded = await openRecorded(engine);
    const target = await recorded.add(research);
    await target.pass(0, git);
    await target.pass(0, git, { steppedMs: -(recordingStartMs % dayMs) });
    await target.pass(dayMs, git, { observed: false });
    for (const resolution of resolutions) {
      const found = await bucketsIn(recorded.store.occupancy, { resolution });
      expect(found.reduce((sum, { bucket }) => sum + bucket.recordedMs, 0)).toBe(
        dayMs - (recordingStartMs % dayMs),
      );
    }
  });

  it("are by start, then by target; those of an hour have what its last minutes brought", async () => {
    await using recorded = await openRecorded(engine);
    const first = await recorded.add(research);
    const second = await recorded.add(support);
    for (const target of [second, first, second, first]) await target.pass(0, git);
    await first.pass(3 * minuteMs, git);
    await second.pass(2 * minuteMs, git);
    await first.pass(2 * minuteMs, git);
    const hours = await bucketsIn(recorded.store.occupancy, { resolution: "1h" });
    expect(hours.map(({ target, bucket }) => [target.key, bucket.recordedMs])).toEqual([
      ["research", 100_000],
      ["support", 100_000],
      ["research", 200_000],
      ["support", 20_000],
    ]);
  });

  it("are those that start in the range, of the regions and keys that are asked for", async () => {
    await using recorded = await openRecorded(engine);
    for (const each of [research, support]) {
      const target = await recorded.add(each);
      await target.pass(0, git);
      await target.pass(20 * minuteMs, git);
    }
    const { occupancy } = recorded.store;
    const at = (minutes: number): number => recordingStartMs + minutes * minuteMs;
    const range = { fromMs: at(2), toMs: at(11) };
    const keys = async (query: Omit<BucketQuery, "resolution">) =>
      (await bucketsIn(occupancy, { resolution: "5m", ...query })).map(({ target }) => target.key);
    expect(await keys(range)).toEqual(["research", "support"]);
    expect(await keys({ ...range, region: ["eu"] })).toEqual(["support"]);
    expect(await keys({ ...range, key: ["support"] })).toEqual(["support"]);
    expect(await keys({ ...range, region: ["eu"], key: ["research"] })).toEqual([]);
    expect(await keys({ ...range, key: [] })).toEqual([]);
    expect(await keys({ fromMs: at(26), toMs: Number.MAX_SAFE_INTEGER })).toEqual([]);
    expect(await keys({ fromMs: at(9), toMs: at(-9) })).toEqual([]);
    const { recorded: times } = await occupancy.open({ key: ["support"] });
    expect(times).toEqual([{ target: support, fromMs: recordingStartMs, toMs: at(20) }]);
  });

  it("are each given once where one is closed while they are read", async () => {
    await using recorded = await openRecorded(engine);
    const target = await recorded.add(research);
    await target.pass(0, git);
    await target.pass(26 * hourMs, git);
    const starts: number[] = [];
    const opened = await recorded.store.occupancy.open();
    const always = { resolution: "5m", fromMs: 0, toMs: Number.MAX_SAFE_INTEGER } as const;
    for await (const some of opened.buckets(always, "server_name")) {
      if (starts.length === 0) await target.pass(10 * minuteMs, git);
      for (const { bucket } of some) starts.push(bucket.startMs);
    }
    const steps = starts.slice(1).map((start, index) => start - (starts[index] ?? 0));
    expect(new Set(steps)).toEqual(new Set([5 * minuteMs]));
  });
});

// In memory a reader would wait for the writer: this needs two connections.
it("hours have all of their names, or are not there, where they are pruned while they are read", async () => {
  const database = openDatabase(freshStoreFile());
  await using recorded = await openRecorded({ ...sqlite, open: async () => database });
  const target = await recorded.add(research);
  await target.pass(0, git);
  await target.pass(5 * hourMs, git);
  while (await recorded.store.rollUp());
  let reads = 0;
  const reader = database.reader.withPlugin({
    transformQuery: ({ node }) => node,
    async transformResult({ result }) {
      if (result.rows.some((row) => "recorded_ms" in row)) reads += 1;
      // After the counts from which the rest is derived, and the first hour.
      if (reads === 2) {
        await database.kysely.deleteFrom("rollups").where("resolution", "=", "1h").execute();
      }
      return result;
    },
  });
  const found = await bucketsIn(createOccupancyHistory(reader), { resolution: "1h" });
  const hours = found.map(({ bucket: { startMs, names } }) => [startMs, names.size]);
  const startMs = bucketStart("1h", recordingStartMs);
  expect(hours).toEqual([startMs, startMs + 5 * hourMs].map((each) => [each, 1]));
});
