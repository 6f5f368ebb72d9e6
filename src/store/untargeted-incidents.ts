import type { Kysely } from "kysely";
import type { IncidentOutcome } from "../alerts/incident-engine.ts";
import type { Incident } from "../alerts/incident.ts";
import type { ReceiverState } from "../alerts/judge-receivers.ts";
import { readIncidents, writeIncidents } from "./incident-rows.ts";
import { createRowReading } from "./row-reading.ts";
import type { RowReading } from "./row-reading.ts";
import type { Tables } from "./tables.ts";

/** Incidents of pools, probes and receivers, which belong to no target. */
export interface UntargetedIncidents {
  /** The open ones, as they were last committed. */
  open(): Promise<readonly Incident[]>;
  /** Judges each receiver that has an open incident; gives what was decided of them. */
  judgeReceivers(
    judge: (state: ReceiverState) => IncidentOutcome,
  ): Promise<readonly IncidentOutcome[]>;
}

export function createUntargetedIncidents(
  kysely: Kysely<Tables>,
  glance = kysely,
  reading = createRowReading(),
): UntargetedIncidents {
  return {
    async open() {
      const rows = await glance
        .selectFrom("incidents")
        .selectAll()
        .where("target_id", "is", null)
        .where("phase", "<>", "resolved")
        .execute();
      return readIncidents(reading, rows);
    },
    judgeReceivers: (judge) =>
      kysely.transaction().execute(async (trx) => {
        const outcomes: IncidentOutcome[] = [];
        for (const { receiver } of await selectFailing(trx)) {
          if (receiver === null) continue;
          const outcome = judge(await readReceiver(trx, receiver, reading));
          await writeIncidents(trx, null, outcome);
          outcomes.push(outcome);
        }
        return outcomes;
      }),
  };
}

/** What is known of a receiver, within the transaction that changes it. */
export async function readReceiver(
  db: Kysely<Tables>,
  receiver: string,
  reading: RowReading,
): Promise<ReceiverState> {
  const never: ReceiverState = { receiver, incident: null, lastStartedAtMs: null };
  const latest = await db
    .selectFrom("incidents")
    .select("started_at_ms")
    .where("receiver", "=", receiver)
    .orderBy("started_at_ms", "desc")
    .limit(1)
    .executeTakeFirst();
  // Every delivery asks, and there is hardly ever one.
  if (!latest) return never;
  const open = await db
    .selectFrom("incidents")
    .selectAll()
    .where("receiver", "=", receiver)
    .where("phase", "<>", "resolved")
    .execute();
  const last = await db
    .selectFrom("incidents")
    .select("started_at_ms")
    .where("receiver", "=", receiver)
    .where("phase", "=", "resolved")
    .orderBy("started_at_ms", "desc")
    .limit(1)
    .executeTakeFirst();
  return {
    receiver,
    incident: readIncidents(reading, open)[0] ?? null,
    lastStartedAtMs: last?.started_at_ms ?? null,
  };
}

function selectFailing(db: Kysely<Tables>) {
  return db
    .selectFrom("incidents")
    .select("receiver")
    .where("receiver", "is not", null)
    .where("phase", "<>", "resolved")
    .distinct()
    .execute();
}
