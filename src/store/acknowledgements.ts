import type { Acknowledgement } from "../alerts/acknowledgement.ts";
import type { Incident } from "../alerts/incident.ts";
import type { OutboxItem } from "../alerts/notification.ts";
import type { Target } from "../fleet/model.ts";
import { batches, paced } from "../lib/iterables.ts";
import { isSelected, type IncidentSelection } from "./incident-history.ts";
import { idsPerStatement, readStored, selectStored, type StoredRow } from "./incidents.ts";
import { insertOutboxItems } from "./outbox-items.ts";
import { storableText, takeSequence } from "./sql-helpers.ts";
import { createRowReading } from "./damaged-rows.ts";
import type { Db } from "./tables.ts";

/** The firing incidents among those that were to be acknowledged. */
export interface AcknowledgeOutcome {
  readonly acknowledged: readonly Acknowledgement[];
  /** The earlier acknowledgements of those that had one. */
  readonly already: readonly Acknowledgement[];
}

/** The notifications about an acknowledgement of a firing incident. */
export type ComposeAcknowledged = (
  incident: Incident,
  acknowledgement: Acknowledgement,
  target: Target | null,
) => readonly OutboxItem[];

/** Each call is one transaction. */
export function createAcknowledgements(kysely: Db, reading = createRowReading()) {
  const readAll = (rows: readonly StoredRow[]) =>
    rows.flatMap((row) => readStored(reading, row) ?? []);

  return {
    /**
     * Acknowledges the firing incidents of a selection that nobody has acknowledged, together with the notifications.
     *
     * @param compose called for each of them; null: they are left to `notifyPending`
     */
    acknowledge(
      selection: IncidentSelection,
      given: Omit<Acknowledgement, "incidentId">,
      compose: ComposeAcknowledged | null,
    ): Promise<AcknowledgeOutcome> {
      const { author, note, atMs } = given;
      // A poll may end an incident at any time: only within one transaction with the outbox items is
      // it certain that nobody is notified of what was over already.
      return kysely.transaction().execute(async (trx): Promise<AcknowledgeOutcome> => {
        const revision = await takeSequence(trx, 1);
        const rows = await selectStored(trx)
          .where(isSelected({ ...selection, phases: ["firing"] }))
          .orderBy("incidents.id")
          .execute();
        const already: Acknowledgement[] = [];
        const acknowledged: Acknowledgement[] = [];
        const items: OutboxItem[] = [];
        for (const { incident, target, acknowledgement: earlier } of readAll(rows)) {
          if (earlier) {
            already.push(earlier);
            continue;
          }
          const acknowledgement = { ...given, incidentId: incident.id };
          acknowledged.push(acknowledgement);
          if (compose) items.push(...compose(incident, acknowledgement, target));
        }
        if (acknowledged.length === 0) return { acknowledged, already };
        for await (const some of paced(batches(acknowledged, idsPerStatement))) {
          const ids = some.map(({ incidentId }) => incidentId);
          const row = { author: storableText(author), note: storableText(note), at_ms: atMs };
          const values = ids.map((id) => ({
            incident_id: id,
            ...row,
            notified: compose ? 1 : 0,
          }));
          await trx.insertInto("acknowledgements").values(values).execute();
          await trx.updateTable("incidents").set({ revision }).where("id", "in", ids).execute();
        }
        await insertOutboxItems(trx, items);
        return { acknowledged, already };
      });
    },

    /** Stores the notifications of acknowledgements that were stored without them. */
    async notifyPending(compose: ComposeAcknowledged): Promise<void> {
      await kysely.transaction().execute(async (trx) => {
        const rows = await selectStored(trx).where("acknowledgements.notified", "=", 0).execute();
        for (const { incident, target, acknowledgement } of readAll(rows)) {
          if (incident.phase.name !== "firing" || !acknowledgement) continue;
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
