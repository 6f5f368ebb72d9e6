import { sql } from "kysely";
import type { Kysely, RawBuilder, Selectable, SqlBool } from "kysely";
import type { Acknowledgement } from "../alerts/acknowledgement.ts";
import type { Incident } from "../alerts/incident.ts";
import type { Target } from "../fleet/model.ts";
import type { Severity } from "../alerts/rule.ts";
import { lastSequence } from "./commit-sequence.ts";
import { incidentFromRow, selectJoinedIncidents, targetOf } from "./incident-rows.ts";
import { beginsWith, fillPage, isBeyond } from "./queries.ts";
import { createRowReading } from "./row-reading.ts";
import type { ListPlace } from "./silences.ts";
import type { Tables } from "./tables.ts";

/** An incident with whose it is and what was said of it. */
export interface StoredIncident {
  readonly incident: Incident;
  /** Null for one of a pool or a receiver. */
  readonly target: Target | null;
  readonly acknowledgement: Acknowledgement | null;
}

/** Which incidents are meant. Left out or empty: whatever it is. */
export interface IncidentSelection {
  readonly phases?: readonly Incident["phase"]["name"][] | undefined;
  readonly rules?: readonly string[] | undefined;
  readonly severities?: readonly Severity[] | undefined;
  /** Of a target, a pool or a probe. */
  readonly region?: readonly string[] | undefined;
  readonly key?: readonly string[] | undefined;
  /** A server's id, what it begins like, or its name. */
  readonly server?: string | undefined;
  /** A sandbox's id, or what it begins like. */
  readonly sandbox?: string | undefined;
  /** Of servers, or of those that are pooled. */
  readonly name?: readonly string[] | undefined;
  /** When they began: inclusive, and exclusive. UTC milliseconds. */
  readonly fromMs?: number | undefined;
  readonly toMs?: number | undefined;
}

export interface IncidentPageQuery extends IncidentSelection {
  readonly limit: number;
  /** Only those that began before this one. */
  readonly before: ListPlace | null;
}

/** What was written after a cursor. */
export interface LaterIncidents {
  /** As they are now, in the order in which they were last written. */
  readonly incidents: readonly StoredIncident[];
  /** Where to go on. */
  readonly cursor: string;
}

/** A server that had an incident at some time. */
export interface KnownServer {
  readonly serverId: string;
  readonly serverName: string | null;
}

/** What incidents there are and were, read beside whatever is being written. */
export function createIncidentHistory(reader: Kysely<Tables>, reading = createRowReading()) {
  const readAll = (rows: readonly JoinedRow[]): readonly StoredIncident[] =>
    reading.all("incidents", rows, ({ id }) => id, readIncident);
  const selectIncidents = () => selectJoinedIncidents(reader);

  return {
    /** Latest begun first. */
    async page({
      limit,
      before,
      ...selection
    }: IncidentPageQuery): Promise<readonly StoredIncident[]> {
      const select = (place: ListPlace | null, most: number) => {
        let some = selectIncidents().where(isSelected(selection));
        if (place) {
          const columns = ["incidents.started_at_ms", "incidents.id"];
          some = some.where(isBeyond(columns, "<", [place.atMs, place.id]));
        }
        return some
          .orderBy("incidents.started_at_ms", "desc")
          .orderBy("incidents.id", "desc")
          .limit(most)
          .execute();
      };
      return fillPage(
        limit,
        (last: JoinedRow | null, most) =>
          select(last ? { atMs: last.started_at_ms, id: last.id } : before, most),
        (row) => reading.read("incidents", row.id, row, readIncident),
      );
    },

    /** The cursor behind what was written last. */
    async newest(): Promise<string> {
      return cursorText(await newestCursor(reader));
    },

    /** What was written after a cursor, each as it is now. */
    async after(
      cursor: string,
      selection: IncidentSelection,
      limit: number,
    ): Promise<LaterIncidents> {
      const newest = await newestCursor(reader);
      const given = readCursor(cursor);
      // A cursor of another store, which was there before this one, is beyond all of this one.
      const { revision, id } = given.revision > newest.revision ? firstCursor : given;
      const rows = await selectIncidents()
        .where(isSelected(selection))
        .where(isBeyond(["incidents.revision", "incidents.id"], ">", [revision, id]))
        .where("incidents.revision", "<=", newest.revision)
        .orderBy("incidents.revision")
        .orderBy("incidents.id")
        .limit(limit)
        .execute();
      const last = rows.length === limit ? rows.at(-1) : undefined;
      return { incidents: readAll(rows), cursor: cursorText(last ?? newest) };
    },

    /** Those whose id begins like this, at most a few: enough to tell that it is not unique. */
    async beginningWith(prefix: string, limit: number): Promise<readonly StoredIncident[]> {
      const rows = await selectIncidents()
        .where(beginsWith("incidents.id", prefix))
        .orderBy("incidents.id")
        .limit(limit)
        .execute();
      return readAll(rows);
    },

    /** Of a server, latest begun first. */
    async ofServer(serverId: string, limit: number): Promise<readonly StoredIncident[]> {
      const rows = await selectIncidents()
        .where("incidents.server_id", "=", serverId)
        .orderBy("incidents.started_at_ms", "desc")
        .limit(limit)
        .execute();
      return readAll(rows);
    },

    /** Servers whose id begins like this. */
    async serversBeginningWith(prefix: string, limit: number): Promise<readonly KnownServer[]> {
      const rows = await reader
        .selectFrom("incidents")
        .select(({ fn }) => ["server_id", fn.max("server_name").as("server_name")])
        .where("server_id", "is not", null)
        .where(beginsWith("server_id", prefix))
        .groupBy("server_id")
        .limit(limit)
        .execute();
      return rows.map((row) => ({ serverId: row.server_id ?? "", serverName: row.server_name }));
    },
  };
}

function isSelected(selection: IncidentSelection): RawBuilder<SqlBool> {
  const { server, sandbox, fromMs, toMs } = selection;
  const conditions = [
    ...isIn(sql`incidents.phase`, selection.phases),
    ...isIn(sql`incidents.rule`, selection.rules),
    ...isIn(sql`incidents.severity`, selection.severities),
    ...isIn(sql`coalesce(targets.region, incidents.region)`, selection.region),
    ...isIn(sql`coalesce(targets.key, incidents.key)`, selection.key),
    ...isIn(sql`incidents.server_name`, selection.name),
    ...(server === undefined
      ? []
      : [sql`(${beginsWith("incidents.server_id", server)} or incidents.server_name = ${server})`]),
    ...(sandbox === undefined ? [] : [beginsWith("incidents.sandbox_id", sandbox)]),
    ...(fromMs === undefined ? [] : [sql`incidents.started_at_ms >= ${fromMs}`]),
    ...(toMs === undefined ? [] : [sql`incidents.started_at_ms < ${toMs}`]),
  ];
  return conditions.length === 0 ? sql`true` : sql.join(conditions, sql` and `);
}

function isIn(
  column: RawBuilder<unknown>,
  values: readonly string[] = [],
): readonly RawBuilder<unknown>[] {
  return values.length === 0 ? [] : [sql`${column} in (${sql.join(values)})`];
}

interface JoinedRow extends Selectable<Tables["incidents"]> {
  readonly target_region: string | null;
  readonly target_key: string | null;
  readonly ack_author: string | null;
  readonly ack_note: string | null;
  readonly ack_at_ms: number | null;
}

function readIncident(row: JoinedRow): StoredIncident {
  const { ack_author: author, ack_at_ms: atMs } = row;
  return {
    incident: incidentFromRow(row),
    target: targetOf(row),
    acknowledgement:
      author === null || atMs === null
        ? null
        : { incidentId: row.id, author, note: row.ack_note, atMs },
  };
}

/** A position in the order in which incidents were last written. Clients hand it back as text, as it was given. */
interface Cursor {
  readonly revision: number;
  readonly id: string;
}

function cursorText({ revision, id }: Cursor): string {
  return `${revision}_${id}`;
}

const cursorPattern = /^(\d{1,15})_(.*)$/;

export function isIncidentCursor(text: string): boolean {
  return cursorPattern.test(text);
}

/** @throws {RangeError} when it is not a cursor */
function readCursor(text: string): Cursor {
  const [, revision, id] = cursorPattern.exec(text) ?? [];
  if (revision === undefined || id === undefined) {
    throw new RangeError("a cursor of incidents must be one that they gave");
  }
  return { revision: Number(revision), id };
}

const firstCursor: Cursor = { revision: 0, id: "" };

/** Behind what was written last. No id of an incident begins with `~`. */
async function newestCursor(db: Kysely<Tables>): Promise<Cursor> {
  return { revision: await lastSequence(db), id: "~" };
}
