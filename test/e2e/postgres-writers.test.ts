import { describe, expect, it } from "vitest";
import { TargetFencedError } from "../../src/alerts/target-state.ts";
import { outboxItem } from "../notify/support/items.ts";
import { addTarget } from "../support/add-target.ts";
import { judgeBy, listing, server, watchFleet } from "../support/fleet.ts";
import { dayMs, outboxStoreOn } from "../store/support/outbox-store.ts";
import { connect, execute, openJoined, openTwo } from "./support/replica-stores.ts";
import { until } from "./support/until.ts";

const idle = listing({ a: "idle" });
const inError = listing({ a: "error" });
const names = ["a", "b", "c", "d", "e"];

/** Two replicas, of which the first one polls targets. */
async function openPolled() {
  const { one, other } = await openTwo();
  const targets = [];
  for (const key of names) {
    const target = { region: "us", key };
    const { id } = await addTarget(one.store, target);
    let incidents = 0;
    const judge = { ...judgeBy(), newIncidentId: () => `${key}-${(incidents += 1)}` };
    const { poll, watched } = watchFleet(target, { judge });
    const commit = (outcome = idle, store = one.store) => store.commitPoll(id, poll(outcome));
    targets.push({ id, watched, commit });
  }
  return { one, other, targets };
}

describe("polls that share a transaction", () => {
  it("are stored as they are alone, but for those of targets that another replica has written", async () => {
    const { one, other, targets } = await openPolled();
    await Promise.all(targets.map(({ commit }) => commit(inError)));
    await Promise.all(targets.map(({ commit }) => commit(inError)));
    const stored = await other.store.targets.all();
    expect(stored.map(({ progress }) => progress)).toEqual(
      targets.map(({ watched }) => watched.state.progress),
    );
    expect(stored.map(({ buckets }) => buckets)).toEqual(
      targets.map(({ watched }) => watched.state.buckets),
    );
    const versions = `select version, snapshot_version as shown from ${one.settings.schema}.targets`;
    expect(await execute(versions)).toEqual(names.map(() => ({ version: "2", shown: "1" })));

    await targets[2]?.commit(idle, other.store);
    const ended = await Promise.allSettled(targets.map(({ commit }) => commit(idle)));
    expect(ended.flatMap((each) => (each.status === "rejected" ? [each.reason] : []))).toEqual([
      new TargetFencedError(targets[2]?.id ?? 0),
    ]);
    const after = await other.store.targets.all();
    expect(after.map(({ progress }) => progress.attempted.polls)).toEqual([3, 3, 3, 3, 3]);
    expect(await execute(`${versions} order by id`)).toEqual(
      names.map(() => ({ version: "3", shown: "3" })),
    );
  });

  it("add changes in the order of their numbers, whichever replica commits them", async () => {
    const { one, other, targets } = await openPolled();
    await other.store.targets.all();
    const changes = `select seq from ${one.settings.schema}.changes order by seq`;
    let seen: readonly number[] = [];
    const polled = new AbortController();
    const watching = (async () => {
      while (!polled.signal.aborted) {
        const all = (await execute(changes)).map(({ seq }) => Number(seq));
        // What is new comes behind everything that was there.
        expect(all.slice(0, seen.length)).toEqual(seen);
        seen = all;
      }
    })();
    const polls = targets.map(async ({ commit }, index) => {
      const { store } = index % 2 === 0 ? one : other;
      for (let poll = 0; poll < 40; poll += 1) await commit(poll % 2 === 0 ? idle : inError, store);
    });
    await Promise.all(polls);
    polled.abort();
    await watching;
    expect((await execute(changes)).length).toBe(5 * 40);
  });
});

it("commits a poll again whose transaction PostgreSQL ended as one of two that waited for each other", async () => {
  const { store, settings } = await openJoined();
  const { id } = await addTarget(store, { region: "us", key: "a" });
  const servers = ["one", "two"].map((name) => server(name, { name }));
  const box = { id: "box", status: "idle", benchmark: null, createdAt: null, servers } as const;
  const both = { complete: true, sandboxes: [box] };
  const { poll } = watchFleet({ region: "us", key: "a" });
  await store.commitPoll(id, poll(both));
  const client = await connect();
  await client.query(`set search_path to ${settings.schema}; set deadlock_timeout to '1h'`);
  await client.query("begin; insert into server_names (name) values ('two')");
  // It closes a bucket: adds the name `one`, and waits for `two`.
  const committing = store.commitPoll(id, poll(both, 400));
  const waits = `select 1 from pg_stat_activity where wait_event_type = 'Lock'
    and query like 'insert into "server_names"%'`;
  await until("waits", async () => (await execute(waits)).length > 0);
  await client.query("insert into server_names (name) values ('one')");
  await client.query("commit");
  await committing;
  const occupancy = `select count(*) from ${settings.schema}.occupancy`;
  expect(await execute(occupancy)).toEqual([{ count: "2" }]);
});

describe("two replicas at once", () => {
  it("add the same targets, probes and server names once", async () => {
    const { one, other } = await openTwo();
    for (let run = 0; run < 30; run += 1) {
      const targets = names.map((key) => ({ region: `r${run}`, key }));
      const [mine, theirs] = await Promise.all([
        one.store.targets.addAll(targets),
        other.store.targets.addAll(targets.toReversed()),
      ]);
      const ids = (all: typeof mine) => all.map(({ id }) => id).toSorted((a, b) => a - b);
      expect(ids(mine)).toEqual(ids(theirs));
      const probe = { kind: "probe", probe: "p", region: `r${run}`, key: "a" } as const;
      const probes = await Promise.all([one, other].map(({ store }) => store.probes.add(probe)));
      expect(probes[0]?.id).toBe(probes[1]?.id);
    }
  });

  it("adopt the configured reports", async () => {
    const { one, other } = await openTwo();
    for (let run = 0; run < 30; run += 1) {
      const reports = names.map((name) => ({ name, schedule: `${run}` }));
      await Promise.all(
        [one, other].map(({ store }) => store.scheduledReports.adopt(reports, run)),
      );
      expect(await one.store.scheduledReports.doneUntilMs("e")).toBe(run);
    }
  });

  it("prune a dead letter or replay it, but not both", async () => {
    const { one, other } = await openTwo();
    const { notify, settle } = outboxStoreOn({
      kysely: one.kysely,
      close: () => Promise.resolve(),
    });
    const bounds = { deliveredBeforeMs: 0, deadBeforeMs: 9e15 };
    const outcomes = new Set<string>();
    for (let run = 0; run < 60; run += 1) {
      const seq = await notify(`n${run}`, [outboxItem()]);
      await settle(seq, "dead");
      const times = () => ({ nextAttemptAtMs: 0, giveUpAtMs: dayMs });
      const pruning = run % 3 === 0 ? null : one.store.prune.notifications(bounds);
      // At the same moment, or one after the other, so that both come first on any machine.
      if (run % 3 === 1) await pruning;
      const replayed = await other.store.notifications.replay({ seqs: [seq] }, times);
      await (pruning ?? one.store.prune.notifications(bounds));
      const left = await one.store.notifications.find(seq);
      expect(left === null ? 0 : 1, `run ${run}`).toBe(replayed);
      outcomes.add(replayed === 1 ? "replayed" : "pruned");
      if (replayed === 1) await settle(seq, "delivered");
    }
    expect(outcomes.size).toBe(2);
  });
});
