import { DatabaseSync } from "node:sqlite";
import { expect, it } from "vitest";
import { judgePoll } from "../../src/core/judge.ts";
import { copyAccounts } from "../support/history/copy-bucket.ts";
import { noAccounts } from "../../src/core/occupancy/accounts.ts";
import { watchTarget } from "../../src/polling/watched-target.ts";
import { migrations } from "../../src/store/migrations.ts";
import { judgeBy, listing, research, startMs, watchFleet } from "../support/fleet.ts";
import { intakeOf } from "../support/take-in.ts";
import { collect, collectSome } from "../support/collect.ts";
import { insertOldChange, insertOldRows, makeOldStore, openOld } from "./support/old-store.ts";

const always = { fromMs: 0, toMs: Number.MAX_SAFE_INTEGER };

/** As the version before buckets left it: servers, a change, an open incident, something to tell. */
function makeStoreBeforeBuckets(): string {
  const fleet = watchFleet();
  const { snapshot } = fleet.poll(listing({ a: "idle", b: "error" }));
  const servers = [...snapshot.serversOf("box")];
  const path = makeOldStore((database) => {
    insertOldRows(
      database,
      1,
      [...snapshot.sandboxes()].map((each) => ({ ...each, servers })),
    );
    insertOldChange(database, [1, startMs, "b", "absent", "error"]);
    for (const migration of migrations.slice(1, 3)) migration(database);
    database.exec("pragma user_version = 3");
  });
  using database = new DatabaseSync(path);
  database.exec(`
    insert into incidents values ('open', 'server-error', 'fingerprint', 'critical', '["oncall"]',
      'server', 1, 'box', 'b', 'github', null, null, null, 'error', 'idle', 'firing', 1000.5, 7,
      null, 2000.5, 0, 10, 20, null, null);
    insert into acknowledgements values ('open', 'jo', null, 30);
    insert into outbox_items values (1, 'oncall', 'open', 's', 'incident.firing', '{}', 5, null);
    insert into silences values ('s', '{}', 'jo', 'why', 1, 2, 3);
  `);
  return path;
}

it("a store of the version before buckets has all that it had, and no history yet", async () => {
  const { store, kysely } = openOld(makeStoreBeforeBuckets());
  const [stored] = await store.targets.all();
  expect(stored).toMatchObject({
    target: research,
    accounts: noAccounts,
    progress: { attempted: { polls: 3 }, lastPollAtMs: startMs },
    openIncidents: [{ id: "open", firedAtMs: 20 }],
  });
  const servers = [...(await store.targets.snapshotOf(1)).servers()];
  expect(servers.map(({ serverId, status }) => [serverId, status])).toEqual([
    ["a", "idle"],
    ["b", "error"],
  ]);
  for (const table of ["changes", "acknowledgements", "outbox_items", "silences"] as const) {
    expect(await kysely.selectFrom(table).selectAll().execute()).toHaveLength(1);
  }
  expect(await store.occupancy.extents()).toEqual([]);
  expect(await collectSome(store.occupancy.buckets({ ...always, resolution: "1d" }))).toEqual([]);
});

it("a store of the version before buckets goes on: what passed meanwhile is a gap", async () => {
  const path = makeStoreBeforeBuckets();
  const first = openOld(path);
  const [stored] = await first.store.targets.all();
  if (!stored) throw new Error("the target is not stored");
  const options = { staleAfter: 3, restoredForMs: 90_000, nowUtcMs: startMs };
  const watched = watchTarget(stored, await first.store.targets.snapshotOf(1), options);
  for (const seconds of [600, 660]) {
    const { sandboxes } = listing({ a: "occupied", b: "error" });
    const intake = intakeOf(watched.state.snapshot, sandboxes, 2);
    const at = { utcMs: startMs + seconds * 1_000, monotonicMs: seconds * 1_000 };
    const verdict = judgePoll(
      watched.state,
      { kind: "listed", intake, complete: true },
      at,
      judgeBy([]),
    );
    await first.store.commitPoll(1, verdict);
    watched.accept(verdict);
  }
  await first.store.close();
  const { store } = openOld(path);
  const buckets = await collectSome(store.occupancy.buckets({ ...always, resolution: "1h" }));
  expect(buckets).toMatchObject([{ bucket: { bookedMs: 660_000, unobservedMs: 600_000 } }]);
  expect(buckets[0]?.bucket.names.get("github")).toMatchObject({
    ms: { idle: 0, occupied: 60_000, error: 60_000 },
    unobservedMs: 1_200_000,
  });
  expect(await collect(store.occupancy.gaps({ ...always, target: research }))).toEqual([
    { fromMs: startMs, toMs: startMs + 600_000 },
  ]);
  const [again] = await store.targets.all();
  expect(again?.accounts).toEqual(copyAccounts(watched.state.accounts));
});
