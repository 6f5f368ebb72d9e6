import { sql, type Kysely } from "kysely";
import type { Incident } from "../core/incident.ts";
import type { Target } from "../core/model.ts";
import type { OutboxItem } from "../core/notification.ts";
import { incidentFromRow } from "./incident-rows.ts";
import type { Tables } from "./tables.ts";

export interface ToldIncidentRow {
  readonly target: Target | null;
  readonly incident: Incident;
  readonly acknowledgedBy: string | null;
}

type Words = Pick<OutboxItem, "condition" | "summaryTemplate" | "runbookUrlTemplate">;

/** SQLite uses a partial index only where the statement itself holds the value. */
const resolved = sql.lit<"resolved">("resolved");

/** What was told of incidents, with the meaning that delivery declares. */
export function createToldIncidents(reader: Kysely<Tables>) {
  const toldTo = (receiver: string) =>
    reader
      .selectFrom("incidents")
      .leftJoin("targets", "targets.id", "incidents.target_id")
      .leftJoin("acknowledgements", "acknowledgements.incident_id", "incidents.id")
      .selectAll("incidents")
      .select([
        "targets.region as target_region",
        "targets.key as target_key",
        "acknowledgements.author as acknowledged_by",
      ])
      .where(
        sql<boolean>`exists (select 1 from json_each(incidents.receivers) where value = ${receiver})`,
      );

  return {
    async toldTo(receiver: string, resolvedSinceMs: number): Promise<readonly ToldIncidentRow[]> {
      const ended = await toldTo(receiver)
        .where("phase", "=", resolved)
        .where("resolved_at_ms", ">=", resolvedSinceMs)
        .execute();
      const firing = await toldTo(receiver)
        .where("phase", "<>", resolved)
        .where("phase", "=", "firing")
        .execute();
      return [...ended, ...firing].map((row) => ({
        target:
          row.target_region === null || row.target_key === null
            ? null
            : { region: row.target_region, key: row.target_key },
        incident: incidentFromRow(row),
        acknowledgedBy: row.acknowledged_by,
      }));
    },

    async wordsOf(
      receiver: string,
      incidentIds: readonly string[],
    ): Promise<ReadonlyMap<string, Words>> {
      const { rows } = await sql<{ readonly incident_id: string; readonly body: string }>`
        select incident_id, body from outbox_items where seq in (
          select max(seq) from outbox_items
          where receiver = ${receiver}
            and incident_id in (select value from json_each(${JSON.stringify(incidentIds)}))
          group by incident_id
        )
      `.execute(reader);
      return new Map(rows.map((row) => [row.incident_id, readWords(row.body)]));
    },

    /** What each receiver waits for: when its oldest notification was made, its oldest item caused. */
    async waiting(): Promise<readonly WaitingRow[]> {
      const { rows } = await sql<WaitingRow>`
        select receiver, min(pending) as "oldestPendingMs", min(item) as "oldestItemMs"
        from (
          select receiver, min(created_at_ms) as pending, null as item
          from notifications where state = 'pending' group by receiver
          union all
          select receiver, null, min(caused_at_ms)
          from outbox_items where notification_seq is null group by receiver
        )
        group by receiver
      `.execute(reader);
      return rows;
    },
  };
}

/** UTC milliseconds; null: there is none. */
export interface WaitingRow {
  readonly receiver: string;
  readonly oldestPendingMs: number | null;
  readonly oldestItemMs: number | null;
}

/** An earlier version's items lack what was not known then. */
function readWords(body: string): Words {
  const item: Words & Partial<OutboxItem> = JSON.parse(body);
  return {
    condition: item.condition,
    summaryTemplate: item.summaryTemplate ?? null,
    runbookUrlTemplate: item.runbookUrlTemplate ?? null,
  };
}
