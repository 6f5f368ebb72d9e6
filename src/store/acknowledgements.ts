import type { Kysely, Selectable } from "kysely";
import type { Acknowledgement } from "../alerts/acknowledgement.ts";
import type { Incident } from "../alerts/incident.ts";
import type { Target } from "../fleet/model.ts";
import type { OutboxItem } from "../alerts/notification.ts";
import { takeSequence } from "./commit-sequence.ts";
import { readIncidents } from "./incident-rows.ts";
import { insertOutboxItems } from "./outbox.ts";
import { createRowReading } from "./row-reading.ts";
import { storableText } from "./storable-text.ts";
import type { Tables } from "./tables.ts";

/** What came of an attempt to acknowledge an incident. */
export type AcknowledgeOutcome =
  | { readonly kind: "acknowledged" | "already"; readonly acknowledgement: Acknowledgement }
  /** Pending or over, so that there is nothing to know. */
  | { readonly kind: "not_firing"; readonly phase: "pending" | "resolved" }
  | { readonly kind: "unknown" };

/** The notifications about an acknowledgement of a firing incident. */
export type ComposeAcknowledged = (
  incident: Incident,
  acknowledgement: Acknowledgement,
  target: Target | null,
) => readonly OutboxItem[];

/** Each call is one transaction. */
export function createStoredAcknowledgements(kysely: Kysely<Tables>, reading = createRowReading()) {
  return {
    async ofOpenIncidents(): Promise<readonly Acknowledgement[]> {
      const rows = await kysely
        .selectFrom("incidents")
        .innerJoin("acknowledgements", "acknowledgements.incident_id", "incidents.id")
        .where("incidents.phase", "<>", "resolved")
        .selectAll("acknowledgements")
        .execute();
      return rows.map(readAcknowledgement);
    },

    /**
     * Stores an acknowledgement, the first one of its incident, together with its notifications.
     *
     * @param compose called only when the incident is firing; null: they are left to {@link notifyPending}
     */
    acknowledge(
      acknowledgement: Acknowledgement,
      compose: ComposeAcknowledged | null,
    ): Promise<AcknowledgeOutcome> {
      const { incidentId, author, note, atMs } = acknowledgement;
      // A poll may end the incident at any time: only within one transaction with the outbox rows is
      // it certain that nobody is told of what was over already.
      return kysely.transaction().execute(async (trx): Promise<AcknowledgeOutcome> => {
        const row = await trx
          .selectFrom("incidents")
          .selectAll()
          .where("id", "=", incidentId)
          .executeTakeFirst();
        const [incident] = readIncidents(reading, row ? [row] : []);
        if (!row || !incident) return { kind: "unknown" };
        if (row.phase !== "firing") return { kind: "not_firing", phase: row.phase };
        const earlier = await trx
          .selectFrom("acknowledgements")
          .selectAll()
          .where("incident_id", "=", incidentId)
          .executeTakeFirst();
        if (earlier) return { kind: "already", acknowledgement: readAcknowledgement(earlier) };
        await trx
          .insertInto("acknowledgements")
          .values({
            incident_id: incidentId,
            author: storableText(author),
            note: storableText(note),
            at_ms: atMs,
            notified: compose ? 1 : 0,
          })
          .execute();
        await trx
          .updateTable("incidents")
          .set({ revision: await takeSequence(trx, 1) })
          .where("id", "=", incidentId)
          .execute();
        if (compose) {
          const target = await findTarget(trx, row.target_id);
          await insertOutboxItems(trx, compose(incident, acknowledgement, target));
        }
        return { kind: "acknowledged", acknowledgement };
      });
    },

    /** Stores the notifications of acknowledgements that were stored without them. */
    async notifyPending(compose: ComposeAcknowledged): Promise<void> {
      await kysely.transaction().execute(async (trx) => {
        const acknowledgements = await trx
          .selectFrom("acknowledgements")
          .selectAll()
          .where("notified", "=", 0)
          .execute();
        for (const each of acknowledgements) {
          const row = await trx
            .selectFrom("incidents")
            .selectAll()
            .where("id", "=", each.incident_id)
            .executeTakeFirst();
          const [incident] = readIncidents(reading, row ? [row] : []);
          if (row && incident?.phase.name === "firing") {
            const target = await findTarget(trx, row.target_id);
            const items = compose(incident, readAcknowledgement(each), target);
            await insertOutboxItems(trx, items);
          }
          await trx
            .updateTable("acknowledgements")
            .set({ notified: 1 })
            .where("incident_id", "=", each.incident_id)
            .execute();
        }
      });
    },
  };
}

async function findTarget(db: Kysely<Tables>, id: number | null): Promise<Target | null> {
  if (id === null) return null;
  const row = await db
    .selectFrom("targets")
    .select(["region", "key"])
    .where("id", "=", id)
    .executeTakeFirst();
  return row ?? null;
}

function readAcknowledgement(row: Selectable<Tables["acknowledgements"]>): Acknowledgement {
  return { incidentId: row.incident_id, author: row.author, note: row.note, atMs: row.at_ms };
}
