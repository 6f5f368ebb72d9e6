import { acknowledgementAt, type Acknowledgement } from "../alerts/acknowledgement.ts";
import type { Incident } from "../alerts/incident.ts";
import type { OutboxItem } from "../alerts/notification.ts";
import type { Target } from "../fleet/model.ts";
import { batches, paced } from "../lib/iterables.ts";
import { isSelected, type IncidentSelection } from "./incident-history.ts";
import { idsPerStatement, readStored, selectStored, type StoredRow } from "./incidents.ts";
import { insertOutboxItems } from "./outbox-items.ts";
import { storableText, takeSequence } from "./sql-helpers.ts";
import { createRowReading } from "./row-reading.ts";
import type { Db } from "./tables.ts";

/** The firing incidents among those that were to be acknowledged. */
export interface AcknowledgeOutcome {
  readonly acknowledged: readonly Acknowledgement[];
  /** The earlier acknowledgements of those that had one that lasts as long. */
  readonly already: readonly Acknowledgement[];
}

/** The notifications about an acknowledgement of a firing incident, or that it was withdrawn. */
export type ComposeAcknowledged = (
  incident: Incident,
  acknowledgement: Acknowledgement,
  target: Target | null,
) => readonly OutboxItem[];

/** What is to be stored of an incident. */
type Given = Omit<Acknowledgement, "incidentId">;
type NewAcknowledgement = Omit<Given, "endsAtMs" | "endedBy"> &
  Partial<Pick<Acknowledgement, "endsAtMs">>;
type Decide = (inForce: Acknowledgement | null) => Given | null;

/** Each call is one transaction. */
export function createAcknowledgements(kysely: Db, reading = createRowReading()) {
  const readAll = (rows: readonly StoredRow[]) =>
    rows.flatMap((row) => readStored(reading, row) ?? []);

  /**
   * Stores what is decided of the firing incidents of a selection, together with the notifications.
   *
   * @returns what was stored, and the acknowledgements in force of the others
   */
  const change = (
    selection: IncidentSelection,
    atMs: number,
    decide: Decide,
    compose: ComposeAcknowledged,
  ) =>
    // A poll may end an incident at any time: only within one transaction with the outbox items is
    // it certain that nobody is notified of what was over already.
    kysely.transaction().execute(async (trx) => {
      const revision = await takeSequence(trx, 1);
      const rows = await selectStored(trx)
        .where(isSelected({ ...selection, phases: ["firing"] }))
        .orderBy("incidents.id")
        .execute();
      const others: Acknowledgement[] = [];
      const changed: Acknowledgement[] = [];
      const items: OutboxItem[] = [];
      for (const { incident, target, acknowledgement } of readAll(rows)) {
        const inForce = acknowledgementAt(acknowledgement, atMs);
        const given = decide(inForce);
        if (given === null) {
          if (inForce) others.push(inForce);
          continue;
        }
        const next = { ...given, incidentId: incident.id };
        changed.push(next);
        items.push(...compose(incident, next, target));
      }
      for await (const some of paced(batches(changed, idsPerStatement))) {
        const ids = some.map(({ incidentId }) => incidentId);
        const values = some.map(toRow);
        await trx.deleteFrom("acknowledgements").where("incident_id", "in", ids).execute();
        await trx.insertInto("acknowledgements").values(values).execute();
        await trx.updateTable("incidents").set({ revision }).where("id", "in", ids).execute();
      }
      await insertOutboxItems(trx, items);
      return { changed, others };
    });

  return {
    /**
     * Acknowledges the firing incidents of a selection that nobody has acknowledged for as long.
     *
     * @param compose called for each of them
     */
    async acknowledge(
      selection: IncidentSelection,
      { endsAtMs = null, ...given }: NewAcknowledgement,
      compose: ComposeAcknowledged,
    ): Promise<AcknowledgeOutcome> {
      const decide: Decide = (inForce) =>
        inForce && (inForce.endsAtMs ?? Infinity) >= (endsAtMs ?? Infinity)
          ? null
          : { ...given, endsAtMs, endedBy: null };
      const { changed, others } = await change(selection, given.atMs, decide, compose);
      return { acknowledged: changed, already: others };
    },

    /** Ends the acknowledgements in force of the firing incidents of a selection, and returns them. */
    async withdraw(
      selection: IncidentSelection,
      { author, atMs }: { readonly author: string; readonly atMs: number },
      compose: ComposeAcknowledged,
    ): Promise<readonly Acknowledgement[]> {
      const decide: Decide = (inForce) =>
        inForce && { ...inForce, endsAtMs: atMs, endedBy: author };
      return (await change(selection, atMs, decide, compose)).changed;
    },
  };
}

function toRow({ incidentId, author, note, atMs, endsAtMs, endedBy }: Acknowledgement) {
  return {
    incident_id: incidentId,
    author: storableText(author),
    note: storableText(note),
    at_ms: atMs,
    ends_at_ms: endsAtMs,
    ended_by: storableText(endedBy),
  };
}
