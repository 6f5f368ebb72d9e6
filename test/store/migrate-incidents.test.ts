import type { DatabaseSync } from "node:sqlite";
import { describe, expect, it } from "vitest";
import { subjectKey } from "../../src/core/message-drafts.ts";
import type { Notification } from "../../src/core/notification.ts";
import { migrations } from "../../src/store/migrations.ts";
import { orderIncidents } from "../../src/store/migrations/order-incidents.ts";
import { insertOutboxItems } from "../../src/store/outbox.ts";
import { outboxItem, startMs } from "../delivery/support/items.ts";
import { makeOldStore, openOld } from "./support/old-store.ts";

const before = migrations.indexOf(orderIncidents);

/** A store of the version before incidents were in order. */
function makeStore(fill: (database: DatabaseSync) => void): string {
  return makeOldStore((database) => {
    for (const migration of migrations.slice(1, before)) migration(database);
    database.exec(`pragma user_version = ${before}`);
    fill(database);
  });
}

describe("a store of the version before incidents were in order", () => {
  const incidents = [
    { id: "b-1", startedAtMs: 30, phase: "firing", revision: 3 },
    { id: "c-2", startedAtMs: 10, phase: "resolved", revision: 2 },
    { id: "a-3", startedAtMs: 20, phase: "firing", revision: 2 },
  ] as const;

  function makeWithIncidents(): string {
    return makeStore((database) => {
      const insert = database.prepare(`insert into incidents values
        (?, 'server-error', 'fingerprint', 'critical', '["oncall"]', 'server', 1, 'box', 'a',
        'github', null, null, null, 'error', 'idle', ?, 1000.5, 7, null, 2000.5, 0, ?, ?, ?, ?,
        null, ?)`);
      for (const { id, startedAtMs, phase, revision } of incidents) {
        const [resolvedAtMs, reason] = phase === "resolved" ? [40, "recovered"] : [null, null];
        insert.run(id, phase, startedAtMs, startedAtMs, resolvedAtMs, reason, revision);
      }
      database.exec("insert into acknowledgements values ('a-3', 'ada', null, 25)");
    });
  }

  it("has the same incidents, and who knows of them", async () => {
    const { store } = openOld(makeWithIncidents());
    const page = await store.incidents.page({ limit: 9, before: null });
    expect(page.map(({ incident }) => incident.id)).toEqual(["b-1", "a-3", "c-2"]);
    expect(page[1]).toEqual({
      incident: {
        id: "a-3",
        rule: "server-error",
        ruleFingerprint: "fingerprint",
        severity: "critical",
        receivers: ["oncall"],
        subject: { kind: "server", sandboxId: "box", serverId: "a", serverName: "github" },
        phase: {
          name: "firing",
          heldSince: { ms: 1_000.5, polls: 7 },
          clearSinceMs: null,
          toldAtMs: 2_000.5,
          flapping: false,
        },
        status: "error",
        previousStatus: "idle",
        startedAtMs: 20,
        firedAtMs: 20,
        resolvedAtMs: null,
      },
      target: { region: "us", key: "research" },
      acknowledgement: { incidentId: "a-3", author: "ada", note: null, atMs: 25 },
    });
    expect(page[2]?.incident.phase).toEqual({ name: "resolved", reason: "recovered" });
  });

  it("goes on from where someone had read", async () => {
    const { store } = openOld(makeWithIncidents());
    const { incidents: later, cursor } = await store.incidents.after("2_a-3", {}, 9);
    expect(later.map(({ incident }) => incident.id)).toEqual(["c-2", "b-1"]);
    for (const newest of ["3_b-1", cursor]) {
      expect(await store.incidents.after(newest, {}, 9)).toEqual({ incidents: [], cursor });
    }
  });

  it("keeps incidents side by side that began one after the other", async () => {
    const { kysely } = openOld(makeWithIncidents());
    const rows = await kysely.selectFrom("incidents").select("id").orderBy("seq").execute();
    expect(rows.map(({ id }) => id)).toEqual(["c-2", "a-3", "b-1"]);
  });

  it("tells of a subject in the order that it had: what is told later waits for what was pending", async () => {
    const told = outboxItem({ incident: { id: "first", serverId: "a" } });
    const path = makeStore((database) => {
      database.exec(`insert into notifications values
        (1, 'msg_1', 'oncall', 'pending', 1, 1, 0, 1, 99, null, null, null, '{}')`);
      database
        .prepare("insert into outbox_items values (1, 'oncall', ?, ?, ?, ?, 1, 1)")
        .run(told.incident.id, subjectKey(told), told.type, JSON.stringify(told));
    });
    const { kysely, store } = openOld(path);
    const later = [
      outboxItem({ type: "incident.resolved", incident: told.incident }),
      outboxItem({ incident: { id: "again", serverId: "a" } }),
      outboxItem({ incident: { id: "other", serverId: "b" } }),
      outboxItem({ receiver: "backup", incident: { id: "again", serverId: "a" } }),
    ];
    await insertOutboxItems(kysely, later);
    await store.outbox.compose(
      later.map(({ receiver, incident }, index) => ({
        notification: { ...notification, id: `msg_${index + 2}`, receiver, incidents: [incident] },
        itemSeqs: [index + 2],
        groupNames: [],
        nextAttemptAtMs: startMs,
        giveUpAtMs: startMs + 1,
      })),
    );
    const rows = await kysely
      .selectFrom("notifications")
      .select("waits_for")
      .orderBy("seq")
      .execute();
    expect(rows.map((row) => row.waits_for)).toEqual([null, 1, 2, null, null]);
  });
});

const notification: Omit<Notification, "id" | "receiver" | "incidents"> = {
  type: "incident.firing",
  rule: "server-error",
  severity: "critical",
  group: {},
  summary: "in error",
  runbookUrl: null,
  createdAtMs: startMs,
  causedAtMs: startMs,
  truncated: 0,
};
