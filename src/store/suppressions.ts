import type { InferResult } from "kysely";
import { matchFields, type Silence, type SilenceMatch } from "../alerts/silence.ts";
import {
  fillPage,
  isBeyond,
  storableText,
  type ListCursor,
  readConsistently,
} from "./sql-helpers.ts";
import { createRowReading, listIn, oneOf, textIn, type RowReading } from "./row-reading.ts";
import type { Db } from "./tables.ts";
import { type Acknowledgement, acknowledgementAt } from "../alerts/acknowledgement.ts";
import type { Incident } from "../alerts/incident.ts";
import type { OutboxItem } from "../alerts/notification.ts";
import type { Target } from "../fleet/model.ts";
import { batches, paced } from "../lib/iterables.ts";
import { isSelected, type IncidentSelection } from "./incident-history.ts";
import { idsPerStatement, readStored, selectStored, touchIncidents } from "./incidents.ts";
import type { StoredRow } from "./incidents.ts";
import { insertOutboxItems } from "./outbox-items.ts";

export interface StoredSilence extends Silence {
  readonly createdAtMs: number;
  /** Who moved its end last, and when; null: nobody. */
  readonly changedBy: string | null;
  readonly changedAtMs: number | null;
}

export type NewSilence = Omit<StoredSilence, "changedBy" | "changedAtMs">;

export interface SilenceChange {
  readonly endsAtMs: number;
  /** Default: as before. */
  readonly reason?: string;
  readonly changedBy: string | null;
  readonly changedAtMs: number;
}

export interface SilencePageQuery {
  /** Whether those that have ended by now are listed too. */
  readonly ended: boolean;
  readonly nowMs: number;
  readonly limit: number;
  /** Only those created before this one. */
  readonly before: ListCursor | null;
}

/** Each call is one transaction. */
export function createSilences(kysely: Db, reader = kysely, reading = createRowReading()) {
  return {
    /** @returns whether it was stored: another silence may have its id */
    async add({ id, match, ...silence }: NewSilence): Promise<boolean> {
      const { numInsertedOrUpdatedRows } = await kysely
        .insertInto("silences")
        .values({
          id,
          match: JSON.stringify(match),
          author: storableText(silence.author),
          reason: storableText(silence.reason),
          created_at_ms: silence.createdAtMs,
          starts_at_ms: silence.startsAtMs,
          ends_at_ms: silence.endsAtMs,
        })
        .onConflict((conflict) => conflict.doNothing())
        .executeTakeFirstOrThrow();
      return numInsertedOrUpdatedRows === 1n;
    },

    /**
     * Moves its end, unless it is over.
     *
     * @returns whether it was moved
     */
    async change(
      id: string,
      { endsAtMs, reason, changedBy, changedAtMs }: SilenceChange,
    ): Promise<boolean> {
      const { numUpdatedRows } = await kysely
        .updateTable("silences")
        .set({ ends_at_ms: endsAtMs, changed_by: storableText(changedBy) })
        .set({ changed_at_ms: changedAtMs, ...(reason && { reason: storableText(reason) }) })
        .where("id", "=", id)
        .where("ends_at_ms", ">", changedAtMs)
        .executeTakeFirst();
      return numUpdatedRows === 1n;
    },

    async find(id: string): Promise<StoredSilence | null> {
      const row = await selectSilences(reader).where("id", "=", id).executeTakeFirst();
      return row ? readSilence(reading, row) : null;
    },

    /** Latest created first. */
    page: ({ ended, nowMs, limit, before }: SilencePageQuery): Promise<readonly StoredSilence[]> =>
      fillPage(
        limit,
        (last: SilenceRow | null, most) => {
          const after = last ? { atMs: last.createdAtMs, id: last.id } : before;
          let some = selectSilences(reader);
          if (!ended) some = some.where("ends_at_ms", ">", nowMs);
          if (after)
            some = some.where(isBeyond(["created_at_ms", "id"], "<", [after.atMs, after.id]));
          return some.orderBy("created_at_ms", "desc").orderBy("id", "desc").limit(most).execute();
        },
        (row) => readSilence(reading, row),
      ),
  };
}

/** Deletes those that ended before. @returns whether there may be more: no */
export async function pruneSilences(kysely: Db, beforeMs: number): Promise<boolean> {
  await kysely.deleteFrom("silences").where("ends_at_ms", "<", beforeMs).execute();
  return false;
}

export function selectSilences(db: Db) {
  return db
    .selectFrom("silences")
    .select(["id", "match", "author", "reason", "created_at_ms as createdAtMs"])
    .select(["starts_at_ms as startsAtMs", "ends_at_ms as endsAtMs"])
    .select(["changed_by as changedBy", "changed_at_ms as changedAtMs"]);
}

type SilenceRow = InferResult<ReturnType<typeof selectSilences>>[number];

/** @returns null when the row cannot be read */
export function readSilence(reading: RowReading, row: SilenceRow): StoredSilence | null {
  return reading.read("silences", row, ({ match, ...rest }) => {
    return { ...rest, match: readMatch(match) };
  });
}

/** @throws where it has no field, as it would silence everything, or one that is not known */
function readMatch(json: string): SilenceMatch {
  const fields = Object.entries(JSON.parse(json));
  if (fields.length === 0) throw new TypeError("a stored match is empty");
  return Object.fromEntries(
    fields.map(([field, patterns]) => [oneOf(matchFields, field), listIn(patterns, textIn)]),
  );
}

/** What people did about notifications. */
export interface StoredSuppressions {
  /** Those that have not ended. */
  readonly silences: readonly Silence[];
  /** Those of open incidents. They may be over. */
  readonly acknowledgements: readonly Acknowledgement[];
}

export function createStoredSuppressions(reader: Db, reading = createRowReading()) {
  return {
    read: (nowMs: number): Promise<StoredSuppressions> =>
      readConsistently(reader, async (trx) => {
        const silences = await selectSilences(trx).where("ends_at_ms", ">", nowMs).execute();
        const acknowledgements = await trx
          .selectFrom("incidents")
          .innerJoin("acknowledgements", "acknowledgements.incident_id", "incidents.id")
          .where("incidents.phase", "<>", "resolved")
          .select(["incident_id as incidentId", "author", "note", "at_ms as atMs"])
          .select(["ends_at_ms as endsAtMs", "ended_by as endedBy"])
          .execute();
        return {
          // One that is skipped has no effect: an extra notification is better than a missing one.
          silences: silences.flatMap((row) => readSilence(reading, row) ?? []),
          acknowledgements,
        };
      }),
  };
}

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
      }
      await touchIncidents(
        trx,
        changed.map(({ incidentId }) => incidentId),
      );
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
