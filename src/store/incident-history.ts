import { setImmediate } from "node:timers/promises";
import { sql, type InferResult, type RawBuilder, type SqlBool } from "kysely";
import type { Incident } from "../alerts/incident.ts";
import type { Severity } from "../alerts/rule.ts";
import { readStored, selectStored, type StoredIncident, type StoredRow } from "./incidents.ts";
import { beginsWith, fillPage, isBeyond, lastSequence, lookedAtOnce } from "./sql-helpers.ts";
import type { ListCursor } from "./sql-helpers.ts";
import { createRowReading, type RowReading } from "./row-reading.ts";
import type { Db } from "./tables.ts";
import type { ChangeSubject } from "./changes.ts";

/** Which incidents are meant. Undefined or empty: all. */
export interface IncidentSelection {
  readonly ids?: readonly string[] | undefined;
  readonly phases?: readonly Incident["phase"]["name"][] | undefined;
  readonly rules?: readonly string[] | undefined;
  readonly severities?: readonly Severity[] | undefined;
  /** Of a target, a pool or a probe. */
  readonly region?: readonly string[] | undefined;
  readonly key?: readonly string[] | undefined;
  /** A server's id, how it begins, or its name. */
  readonly server?: string | undefined;
  /** A sandbox's id, or how it begins. */
  readonly sandbox?: string | undefined;
  /** The ids of sandboxes. */
  readonly sandboxes?: readonly string[] | undefined;
  /** Of servers, or of those that are pooled. */
  readonly name?: readonly string[] | undefined;
  /** When they began: inclusive, and exclusive. UTC milliseconds. */
  readonly fromMs?: number | undefined;
  readonly toMs?: number | undefined;
}

export interface IncidentPageQuery extends IncidentSelection {
  readonly limit: number;
  /** Only those that began before this one. */
  readonly before: ListCursor | null;
}

/** A server that had an incident at some time. */
export interface KnownServer {
  readonly serverId: string;
  readonly serverName: string | null;
}

/** Reads open and resolved incidents, concurrently with writes. */
export function createIncidentHistory(reader: Db, reading = createRowReading()) {
  const read = (row: StoredRow): StoredIncident | null => readStored(reading, row);
  const select = (selection: IncidentSelection) =>
    selectStored(reader).where(isSelected(selection));

  const of = async (
    column: "incidents.server_id" | "incidents.sandbox_id",
    id: string,
    begunByMs: number,
    limit: number,
  ): Promise<readonly StoredIncident[]> => {
    const rows = await selectStored(reader)
      .where(column, "=", id)
      .where("incidents.started_at_ms", "<=", begunByMs)
      .orderBy(sql`coalesce(incidents.resolved_at_ms, ${Number.MAX_SAFE_INTEGER})`, "desc")
      .orderBy("incidents.id", "desc")
      .limit(limit)
      .execute();
    return rows.flatMap((row) => read(row) ?? []);
  };

  return {
    /** Latest begun first. */
    page: ({
      limit,
      before,
      ...selection
    }: IncidentPageQuery): Promise<readonly StoredIncident[]> =>
      fillPage(
        limit,
        async (last: StoredRow | null, most) => {
          const found: StoredRow[] = [];
          let after = last ? { atMs: last.started_at_ms, id: last.id } : before;
          for (;;) {
            const end: ListCursor | null = await windowEnd(reader, after, selection.fromMs);
            let some = select(selection);
            if (after) some = some.where(isBeyond(place, "<", [after.atMs, after.id]));
            if (end) some = some.where(isBeyond(place, ">=", [end.atMs, end.id]));
            const rows = await some
              .orderBy("incidents.started_at_ms", "desc")
              .orderBy("incidents.id", "desc")
              .limit(most - found.length)
              .execute();
            found.push(...rows);
            if (end === null || found.length >= most) return found;
            after = end;
            await setImmediate();
          }
        },
        read,
      ),

    /** The cursor behind what was written last. */
    async newest(): Promise<string> {
      return cursorText(await newestCursor(reader));
    },

    /** What was written after a cursor, each as it is now, in the order in which they were last written; and where to go on. */
    after: (cursor: string, selection: IncidentSelection, limit: number) =>
      readAfter(reader, reading, cursor, selection, limit),

    /** Those whose id begins like this, at most a few: enough to know that it is not unique. */
    async beginningWith(prefix: string, limit: number): Promise<readonly StoredIncident[]> {
      const rows = await selectStored(reader)
        .where(beginsWith("incidents.id", prefix))
        .orderBy("incidents.id")
        .limit(limit)
        .execute();
      return rows.flatMap((row) => read(row) ?? []);
    },

    /** Reads the incidents of a server that began by a moment: the open ones, then those that were resolved latest. */
    ofServer: (serverId: string, begunByMs: number, limit: number) =>
      of("incidents.server_id", serverId, begunByMs, limit),

    /** Reads the incidents of a sandbox and its servers as `ofServer` does. */
    ofSandbox: (sandboxId: string, begunByMs: number, limit: number) =>
      of("incidents.sandbox_id", sandboxId, begunByMs, limit),

    /** Incidents of servers or sandboxes that fired or were over within a range of UTC milliseconds, in no order. */
    times: (range: Range, subject: ChangeSubject) => readTimes(reader, range, subject),

    /** Servers whose id begins like this. */
    async serversBeginningWith(prefix: string, limit: number): Promise<readonly KnownServer[]> {
      const rows = await reader
        .selectFrom("incidents")
        .select(({ fn }) => ["server_id", fn.max("server_name").as("server_name")])
        .where("server_id", "is not", null)
        .where(beginsWith("server_id", prefix))
        .groupBy("server_id")
        // The id itself comes before those that begin with it.
        .orderBy("server_id")
        .limit(limit)
        .execute();
      return rows.map((row) => ({ serverId: row.server_id ?? "", serverName: row.server_name }));
    },
  };
}

const place = ["incidents.started_at_ms", "incidents.id"];

/** The last of the incidents that one statement looks at; null: all that follow. */
async function windowEnd(
  reader: Db,
  after: ListCursor | null,
  fromMs = Number.MIN_SAFE_INTEGER,
): Promise<ListCursor | null> {
  const rows = reader
    .selectFrom("incidents")
    .select(["started_at_ms as atMs", "id"])
    .where("started_at_ms", ">=", fromMs);
  const end = await (after ? rows.where(isBeyond(place, "<", [after.atMs, after.id])) : rows)
    .orderBy("started_at_ms", "desc")
    .orderBy("id", "desc")
    .offset(lookedAtOnce - 1)
    .limit(1)
    .executeTakeFirst();
  return end ?? null;
}

export function isSelected(selection: IncidentSelection): RawBuilder<SqlBool> {
  const { server, sandbox, fromMs, toMs } = selection;
  const conditions = [sql`true`];
  const add = (column: RawBuilder<unknown>, values: readonly string[] = []): void => {
    if (values.length > 0) conditions.push(sql`${column} in (${sql.join(values)})`);
  };
  add(sql`incidents.id`, selection.ids);
  add(sql`incidents.phase`, selection.phases);
  add(sql`incidents.rule`, selection.rules);
  add(sql`incidents.severity`, selection.severities);
  add(sql`coalesce(targets.region, incidents.region)`, selection.region);
  add(sql`coalesce(targets.key, incidents.key)`, selection.key);
  add(sql`incidents.server_name`, selection.name);
  add(sql`incidents.sandbox_id`, selection.sandboxes);
  if (server !== undefined) {
    const byId = beginsWith("incidents.server_id", server);
    conditions.push(sql`(${byId} or incidents.server_name = ${server})`);
  }
  if (sandbox !== undefined) conditions.push(beginsWith("incidents.sandbox_id", sandbox));
  if (fromMs !== undefined) conditions.push(sql`incidents.started_at_ms >= ${fromMs}`);
  if (toMs !== undefined) conditions.push(sql`incidents.started_at_ms < ${toMs}`);
  return sql.join(conditions, sql` and `);
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
async function newestCursor(reader: Db): Promise<Cursor> {
  return { revision: await lastSequence(reader), id: "~" };
}

async function readAfter(
  reader: Db,
  reading: RowReading,
  cursor: string,
  selection: IncidentSelection,
  limit: number,
) {
  const newest = await newestCursor(reader);
  const given = readCursor(cursor);
  // A cursor of another store, which was there before this one, is beyond all of this one.
  const { revision, id } = given.revision > newest.revision ? firstCursor : given;
  const rows = await selectStored(reader)
    .where(isSelected(selection))
    .where(isBeyond(["incidents.revision", "incidents.id"], ">", [revision, id]))
    .where("incidents.revision", "<=", newest.revision)
    .orderBy("incidents.revision")
    .orderBy("incidents.id")
    .limit(limit)
    .execute();
  const last = rows.length === limit ? rows.at(-1) : undefined;
  return {
    incidents: rows.flatMap((row) => readStored(reading, row) ?? []),
    cursor: cursorText(last ?? newest),
  };
}

/** When an incident of a server began, fired, and was over because the server recovered. */
export type ServerIncidentTimes = Omit<InferResult<ReturnType<typeof selectTimes>>[number], "id">;

function selectTimes(reader: Db, subject: ChangeSubject) {
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

interface Range {
  readonly fromMs: number;
  readonly toMs: number;
}

async function* readTimes(
  reader: Db,
  { fromMs, toMs }: Range,
  subject: ChangeSubject,
): AsyncIterable<ServerIncidentTimes> {
  let after = "";
  for (;;) {
    const rows = await selectTimes(reader, subject)
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
}
