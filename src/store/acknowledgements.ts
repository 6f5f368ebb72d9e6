import type { Acknowledgement } from "../alerts/acknowledgement.ts";
import type { Incident } from "../alerts/incident.ts";
import type { OutboxItem } from "../alerts/notification.ts";
import type { Target } from "../fleet/model.ts";
import { readStored, selectStored } from "./incidents.ts";
import { insertOutboxItems } from "./outbox-items.ts";
import { storableText, takeSequence } from "./sql-helpers.ts";
import { createRowReading } from "./damaged-rows.ts";
import type { Db } from "./tables.ts";

/** The result of acknowledging an incident. */
export type AcknowledgeOutcome =
  | { readonly kind: "acknowledged" | "already"; readonly acknowledgement: Acknowledgement }
  /** Pending or over, so that there is nothing to acknowledge. */
  | { readonly kind: "not_firing"; readonly phase: "pending" | "resolved" }
  | { readonly kind: "unknown" };

/** The notifications about an acknowledgement of a firing incident. */
export type ComposeAcknowledged = (
  incident: Incident,
  acknowledgement: Acknowledgement,
  target: Target | null,
) => readonly OutboxItem[];

/** Each call is one transaction. */
export function createAcknowledgements(kysely: Db, reading = createRowReading()) {
  return {
    ofOpenIncidents: (): Promise<readonly Acknowledgement[]> =>
      kysely
        .selectFrom("incidents")
        .innerJoin("acknowledgements", "acknowledgements.incident_id", "incidents.id")
        .where("incidents.phase", "<>", "resolved")
        .select(["incident_id as incidentId", "author", "note", "at_ms as atMs"])
        .execute(),

    /**
     * Stores an acknowledgement, the first one of its incident, together with its notifications.
     *
     * @param compose called only when the incident is firing; null: they are left to `notifyPending`
     */
    acknowledge(
      acknowledgement: Acknowledgement,
      compose: ComposeAcknowledged | null,
    ): Promise<AcknowledgeOutcome> {
      const { incidentId, author, note, atMs } = acknowledgement;
      // A poll may end the incident at any time: only within one transaction with the outbox items is
      // it certain that nobody is notified of what was over already.
      return kysely.transaction().execute(async (trx): Promise<AcknowledgeOutcome> => {
        const row = await selectStored(trx)
          .where("incidents.id", "=", incidentId)
          .executeTakeFirst();
        const stored = row && readStored(reading, row);
        if (!stored) return { kind: "unknown" };
        const { incident, target, acknowledgement: earlier } = stored;
        const phase = incident.phase.name;
        if (phase !== "firing") return { kind: "not_firing", phase };
        if (earlier) return { kind: "already", acknowledgement: earlier };
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
        if (compose) await insertOutboxItems(trx, compose(incident, acknowledgement, target));
        return { kind: "acknowledged", acknowledgement };
      });
    },

    /** Stores the notifications of acknowledgements that were stored without them. */
    async notifyPending(compose: ComposeAcknowledged): Promise<void> {
      await kysely.transaction().execute(async (trx) => {
        const rows = await selectStored(trx).where("acknowledgements.notified", "=", 0).execute();
        for (const row of rows) {
          const stored = readStored(reading, row);
          if (stored?.incident.phase.name !== "firing" || !stored.acknowledgement) continue;
          const { incident, target, acknowledgement } = stored;
          await insertOutboxItems(trx, compose(incident, acknowledgement, target));
        }
        await trx
          .updateTable("acknowledgements")
          .set({ notified: 1 })
          .where("notified", "=", 0)
          .execute();
      });
    },
  };
}
