import { setImmediate } from "node:timers/promises";
import { sql, type InferResult } from "kysely";
import type { Target } from "../fleet/model.ts";
import type { Snapshot } from "../fleet/snapshot.ts";
import { readConsistently } from "./sql-helpers.ts";
import { createRowReading } from "./row-reading.ts";
import { readSnapshot } from "./snapshots.ts";
import type { ChangeSubject } from "./changes.ts";
import type { Db } from "./tables.ts";

/** When an incident of a server began, fired, and was over because the server recovered. */
export type ServerIncidentTimes = Omit<
  InferResult<ReturnType<typeof selectIncidents>>[number],
  "id"
>;

function selectIncidents(reader: Db, subject: ChangeSubject) {
  return reader
    .selectFrom("incidents")
    .innerJoin("targets", "targets.id", "incidents.target_id")
    .leftJoin("servers", (join) =>
      join
        .onRef("servers.target_id", "=", "incidents.target_id")
        .onRef("servers.sandbox_id", "=", "incidents.sandbox_id")
        .onRef("servers.server_id", "=", "incidents.server_id"),
    )
    .where("subject", "=", subject)
    .select(["incidents.id", "targets.region", "targets.key"])
    .select(["incidents.sandbox_id as sandboxId", "incidents.server_id as serverId"])
    .select(["incidents.server_name as serverName", "servers.tags"])
    .select(({ fn }) => fn.coalesce("servers.benchmark", "incidents.benchmark").as("benchmark"))
    .select(["started_at_ms as startedAtMs", "fired_at_ms as firedAtMs"])
    .select(
      sql<number | null>`case when resolved_reason = 'recovered' then resolved_at_ms end`.as(
        "recoveredAtMs",
      ),
    );
}

/** Incidents that are read before the event loop turns. */
const incidentsAtOnce = 1_000;

/** Queries of reports other than buckets and changes, run concurrently with writes. Times are UTC milliseconds. */
export function createReportQueries(reader: Db, reading = createRowReading()) {
  return {
    /** All that were ever watched, with when they were last polled; null: never. */
    async targets() {
      const rows = await reader
        .selectFrom("targets")
        .select(["region", "key", "last_poll_at_ms as lastPollAtMs"])
        .orderBy("id")
        .execute();
      return rows.map(({ lastPollAtMs, ...target }) => ({ target, lastPollAtMs }));
    },

    /** How many changes there were since a moment. */
    async countChanges(sinceMs: number): Promise<number> {
      const count = sql<number>`count(*)`.as("count");
      const found = reader.selectFrom("changes").select(count).where("at_ms", ">=", sinceMs);
      return (await found.executeTakeFirstOrThrow()).count;
    },

    /** Incidents of servers or sandboxes that fired or were over within a range of time, in no order. */
    async *incidents(
      { fromMs, toMs }: { readonly fromMs: number; readonly toMs: number },
      subject: ChangeSubject,
    ): AsyncIterable<ServerIncidentTimes> {
      let after = "";
      for (;;) {
        const rows = await selectIncidents(reader, subject)
          .where("incidents.id", ">", after)
          .where((eb) =>
            eb.or([
              eb.and([eb("fired_at_ms", ">=", fromMs), eb("fired_at_ms", "<", toMs)]),
              eb.and([eb("resolved_at_ms", ">=", fromMs), eb("resolved_at_ms", "<", toMs)]),
            ]),
          )
          .orderBy("incidents.id")
          .limit(incidentsAtOnce)
          .execute();
        yield* rows;
        const last = rows.at(-1);
        if (!last || rows.length < incidentsAtOnce) return;
        after = last.id;
        await setImmediate();
      }
    },

    /** The servers of a target, and when it was polled with them. Null: there is no such target. */
    present: ({
      region,
      key,
    }: Target): Promise<{
      readonly lastPollAtMs: number | null;
      readonly snapshot: Snapshot;
    } | null> =>
      readConsistently(reader, async (trx) => {
        const row = await trx
          .selectFrom("targets")
          .select(["id", "last_poll_at_ms as lastPollAtMs"])
          .where("region", "=", region)
          .where("key", "=", key)
          .executeTakeFirst();
        if (!row) return null;
        const snapshot = await readSnapshot(trx, row.id, reading);
        return { lastPollAtMs: row.lastPollAtMs, snapshot };
      }),
  };
}
