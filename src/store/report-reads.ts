import { setImmediate } from "node:timers/promises";
import type { Kysely } from "kysely";
import type { Target } from "../fleet/model.ts";
import type { Snapshot } from "../fleet/snapshot.ts";
import { readConsistently } from "./queries.ts";
import { createRowReading } from "./row-reading.ts";
import { readSnapshot } from "./snapshot-rows.ts";
import type { Tables } from "./tables.ts";

/** When a target was last polled. UTC milliseconds; null: it never was. */
export interface TargetTime {
  readonly target: Target;
  readonly lastPollAtMs: number | null;
}

/** When an incident of a server began, fired, and was over because the server recovered. */
export interface ServerIncidentTimes {
  readonly target: Target;
  readonly sandboxId: string;
  readonly serverId: string;
  readonly serverName: string | null;
  readonly startedAtMs: number;
  readonly firedAtMs: number | null;
  readonly recoveredAtMs: number | null;
}

/** What reports need beside buckets and changes, read beside whatever is being written. */
export interface ReportReads {
  /** Of all that were ever watched. */
  targets(): Promise<readonly TargetTime[]>;
  /** Incidents of servers that fired or were over within a range of time, in no order. */
  incidents(range: {
    readonly fromMs: number;
    readonly toMs: number;
  }): AsyncIterable<ServerIncidentTimes>;
  /** The servers of a target, and when it was polled with them. Null: there is no such target. */
  present(
    target: Target,
  ): Promise<{ readonly lastPollAtMs: number | null; readonly snapshot: Snapshot } | null>;
}

/** So many are looked through before something else has its turn. */
const incidentsAtOnce = 1_000;

export function createReportReads(
  reader: Kysely<Tables>,
  reading = createRowReading(),
): ReportReads {
  return {
    async targets() {
      const rows = await reader
        .selectFrom("targets")
        .select(["region", "key", "last_poll_at_ms"])
        .orderBy("id")
        .execute();
      return rows.map(({ region, key, last_poll_at_ms }) => ({
        target: { region, key },
        lastPollAtMs: last_poll_at_ms,
      }));
    },

    async *incidents({ fromMs, toMs }) {
      let after = "";
      for (;;) {
        const rows = await reader
          .selectFrom("incidents")
          .leftJoin("targets", "targets.id", "incidents.target_id")
          .select([
            "incidents.id",
            "incidents.sandbox_id",
            "incidents.server_id",
            "incidents.server_name",
            "incidents.started_at_ms",
            "incidents.fired_at_ms",
            "incidents.resolved_at_ms",
            "incidents.resolved_reason",
            "targets.region",
            "targets.key",
          ])
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
        for (const row of rows) {
          const { region, key, sandbox_id: sandboxId, server_id: serverId } = row;
          if (region === null || key === null || sandboxId === null || serverId === null) continue;
          yield {
            target: { region, key },
            sandboxId,
            serverId,
            serverName: row.server_name,
            startedAtMs: row.started_at_ms,
            firedAtMs: row.fired_at_ms,
            recoveredAtMs: row.resolved_reason === "recovered" ? row.resolved_at_ms : null,
          };
        }
        const last = rows.at(-1);
        if (!last || rows.length < incidentsAtOnce) return;
        after = last.id;
        await setImmediate();
      }
    },

    present: ({ region, key }) =>
      readConsistently(reader, async (trx) => {
        const row = await trx
          .selectFrom("targets")
          .select(["id", "last_poll_at_ms"])
          .where("region", "=", region)
          .where("key", "=", key)
          .executeTakeFirst();
        if (!row) return null;
        const snapshot = await readSnapshot(trx, row.id, reading);
        return { lastPollAtMs: row.last_poll_at_ms, snapshot };
      }),
  };
}
