import { sql } from "kysely";
import { describe, expect, it } from "vitest";
import { addTarget } from "../../support/add-target.ts";
import { collect } from "../../support/collect.ts";
import { listing, research, startMs, watchFleet } from "../../support/fleet.ts";
import { allTime } from "../../../src/reports/time-range.ts";
import { eachServer } from "../../../src/fleet/snapshot.ts";
import type { UnreadableRow } from "../../../src/store/row-reading.ts";
import { createStore, type Store } from "../../../src/store/store.ts";
import { engines } from "../support/engines.ts";

describe.each(engines)("a row that cannot be read on $name", (engine) => {
  const silence = {
    match: { region: ["us"] },
    author: "ann",
    reason: "maintenance",
    createdAtMs: startMs,
    startsAtMs: startMs,
    endsAtMs: startMs + 1,
  };

  /** Two of everything. */
  async function openTwoOfEverything() {
    const { kysely, close } = await engine.open();
    const found: UnreadableRow[] = [];
    const store = createStore(kysely, close, { onUnreadableRow: (row) => void found.push(row) });
    const { id } = await addTarget(store, research);
    const { poll } = watchFleet();
    await store.commitPoll(id, poll(listing({ a: "error", b: "error" })));
    for (const silenceId of ["s1", "s2"]) await store.silences.add({ ...silence, id: silenceId });
    return { kysely, store, id, found };
  }

  type Read = (store: Store, targetId: number) => Promise<readonly unknown[]>;

  const snapshot: Read = async (store, id) => [...eachServer(await store.targets.snapshotOf(id))];
  const changes: Read = (store) =>
    collect(
      store.changes.ofSubjects({
        ...allTime,
        direction: "asc",
        subject: ["server"],
        observations: true,
      }),
    );

  const allChanges: Read = (store) =>
    collect(store.changes.ofSubjects({ ...allTime, direction: "asc", observations: true }));

  it.each<[UnreadableRow["table"], string, Read]>([
    ["servers", "set status = 'melted' where server_id = 'a'", snapshot],
    ["servers", "set tags = '[' where server_id = 'a'", snapshot],
    [
      "changes",
      "set to_status = 'melted' where seq = (select min(seq) from changes where server > 0)",
      changes,
    ],
    [
      "changes",
      "set observation = 'melted' where seq = (select min(seq) from changes where server > 0)",
      changes,
    ],
    ["changes", "set from_status = 'melted' where sandbox > 0", allChanges],
    [
      "incidents",
      "set phase = 'melted' where server_id = 'a'",
      async (store) => (await store.targets.all())[0]?.openIncidents ?? [],
    ],
    [
      "incidents",
      "set severity = 'melted' where server_id = 'a'",
      (store) => store.incidents.page({ limit: 9, before: null }),
    ],
    [
      "outbox_items",
      "set body = '{' where seq = 1",
      (store) => store.outbox.openItems("oncall", 9),
    ],
    [
      "outbox_items",
      "set type = 'melted' where seq = 1",
      (store) => store.outbox.about(["incident-1", "incident-2"]),
    ],
    [
      "silences",
      "set match = 'null' where id = 's1'",
      async (store) => (await store.suppressions.read(startMs)).silences,
    ],
  ])("of %s is skipped and reported once: %s", async (table, damage, read) => {
    const { kysely, store, id, found } = await openTwoOfEverything();
    const all = await read(store, id);
    await sql.raw(`update ${table} ${damage}`).execute(kysely);
    expect(await read(store, id)).toHaveLength(all.length - 1);
    expect(await read(store, id)).toHaveLength(all.length - 1);
    expect(found.map((row) => row.table)).toEqual([table]);
    expect([...store.unreadable.keys()]).toEqual([table]);
  });

  it("is a server's: the next listing stores it again", async () => {
    const { kysely, store, id } = await openTwoOfEverything();
    await sql`update servers set status = 'melted' where server_id = 'a'`.execute(kysely);
    await store.targets.all();
    const fleet = watchFleet();
    await store.commitPoll(id, fleet.poll(listing({ a: "idle", b: "idle" })));
    expect([...eachServer(await store.targets.snapshotOf(id))]).toHaveLength(2);
  });

  it.each(["status", "stated_status"])(
    "is a sandbox's %s: the next listing stores it again",
    async (column) => {
      const { kysely, store, id, found } = await openTwoOfEverything();
      await sql`update sandboxes set ${sql.ref(column)} = 'melted'`.execute(kysely);
      expect((await store.targets.snapshotOf(id)).sandboxes).toEqual([]);
      expect(found).toEqual([{ table: "sandboxes", id: "1" }]);
      await store.targets.all();
      await store.commitPoll(id, watchFleet().poll(listing({ a: "idle", b: "idle" })));
      expect((await store.targets.snapshotOf(id)).sandboxes).toMatchObject([
        { id: "box", status: "idle" },
      ]);
    },
  );
});
