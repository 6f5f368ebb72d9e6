import { setImmediate } from "node:timers/promises";
import { sql, type InferResult } from "kysely";
import { presences, type Presence } from "../fleet/model.ts";
import { beginsWith, isBeyond, lastSequence, lookedAtOnce } from "./sql-helpers.ts";
import { cursorText, readCursor, type ChangeCursor } from "./change-rows.ts";
import { createRowReading, oneOf, type RowReading } from "./row-reading.ts";
import type { Db, Tables } from "./tables.ts";

/** What a change is of. */
export const changeSubjects = ["server", "sandbox"] as const;
export type ChangeSubject = (typeof changeSubjects)[number];

/** A sandbox or server was missing from a complete listing, observed again as it was, or has other attributes. */
export type Observation = (typeof observations)[number];

export const observations = ["missing", "seen", "updated"] as const;

/** A change of a server or sandbox as it is stored. */
export type StoredSubjectChange = ReturnType<typeof readChange>;

/** Which changes are asked for. Undefined or empty: all. */
export interface ChangeSelection {
  readonly region?: readonly string[] | undefined;
  readonly key?: readonly string[] | undefined;
  /** The server's id, how it begins, or the server's name. */
  readonly server?: string | undefined;
  /** The whole id of a server. */
  readonly serverId?: string | undefined;
  /** The sandbox's id, or how it begins. */
  readonly sandbox?: string | undefined;
  /** The whole id of a sandbox. */
  readonly sandboxId?: string | undefined;
  readonly name?: readonly string[] | undefined;
  /** From one of these, or to one. */
  readonly status?: readonly Presence[] | undefined;
  readonly from?: readonly Presence[] | undefined;
  readonly to?: readonly Presence[] | undefined;
  /** Whether observations are asked for too. Default: no. */
  readonly observations?: boolean | undefined;
}

/** What is asked for of a server leaves out sandboxes. */
export interface SubjectSelection extends ChangeSelection {
  /** Undefined or empty: sandboxes and servers. */
  readonly subject?: readonly ChangeSubject[] | undefined;
}

interface Paging {
  /** Inclusive. UTC milliseconds. */
  readonly fromMs: number;
  /** Exclusive. */
  readonly toMs: number;
  readonly direction: "asc" | "desc";
  /** Only what follows this cursor in that direction. */
  readonly cursor?: string | undefined;
  /** Only what was stored up to this cursor: `after` gives what comes later. */
  readonly keptUpTo?: string | undefined;
}

export type SubjectQuery = SubjectSelection & Paging;

const changesAtOnce = 1_000;

/** A selection that more sandboxes or servers match is left to the database as a condition. */
const mostByRow = 500;

/** Reads changes in pages, concurrently with writes. */
export function createChangeHistory(reader: Db, reading = createRowReading()) {
  /** Pages of rows of each kind are merged: with one query for both, neither would be found by its own index. */
  async function* pagesBetween(
    query: SubjectQuery,
    selected: readonly SelectedRows[],
  ): AsyncGenerator<readonly StoredRow[], void> {
    if (selected.length === 0) return;
    const { direction, keptUpTo } = query;
    const sign = direction === "desc" ? -1 : 1;
    const lastSeq = keptUpTo === undefined ? Number.MAX_SAFE_INTEGER : readCursor(keptUpTo).seq;
    const areFew = selected.every(({ ids }) => ids !== null);
    let after = query.cursor === undefined ? null : readCursor(query.cursor);
    for (;;) {
      const end: ChangeCursor | null = areFew ? null : await windowEnd(reader, query, after);
      const range = timesBetween(query, after, end);
      const found: StoredRow[] = [];
      for (const rows of selected) {
        let page = selectChanges(reader, query, rows)
          .where("changes.seq", "<=", lastSeq)
          .where("changes.at_ms", ">=", range.fromMs)
          .where("changes.at_ms", "<", range.toMs)
          .orderBy("changes.at_ms", direction)
          .orderBy("changes.seq", direction)
          .limit(changesAtOnce);
        if (after) page = page.where(isBeyond(place, beyond(direction), [after.atMs, after.seq]));
        if (end) {
          const until = direction === "desc" ? ">=" : "<=";
          page = page.where(isBeyond(place, until, [end.atMs, end.seq]));
        }
        found.push(...(await page.execute()));
      }
      const page = found
        .toSorted((a, b) => sign * (a.atMs - b.atMs || a.seq - b.seq))
        .slice(0, changesAtOnce);
      yield page;
      after = page.length < changesAtOnce ? end : (page.at(-1) ?? null);
      if (after === null) return;
      await setImmediate();
    }
  }

  return {
    /** In the order of time, and for one moment in the order in which they were stored, either way. */
    async *ofSubjects(query: SubjectQuery): AsyncIterable<StoredSubjectChange> {
      const selected = await allRowsOf(reader, query);
      for await (const rows of pagesBetween(query, selected)) {
        yield* reading.all("changes", rows, readChange);
      }
    },

    /** How many there were since a moment, in UTC milliseconds. */
    async countSince(sinceMs: number): Promise<number> {
      const { count } = await reader
        .selectFrom("changes")
        .select(({ fn }) => fn.countAll<number>().as("count"))
        .where("at_ms", ">=", sinceMs)
        .executeTakeFirstOrThrow();
      return count;
    },

    /** The cursor of what was stored last: nothing was stored after it yet. */
    async newest(): Promise<string> {
      return cursorText(await newestCursor(reader));
    },

    /** What was stored after a cursor, in that order, whatever the clock said; and where to go on. */
    after: (cursor: string, selection: SubjectSelection, limit: number) =>
      readAfter(reader, reading, cursor, selection, limit),
  };
}

const place = ["changes.at_ms", "changes.seq"];

function beyond(direction: Paging["direction"]): "<" | ">" {
  return direction === "desc" ? "<" : ">";
}

/** SQLite seeks in an index by one bound of each side: without the nearest ones it would begin each page at the first row. */
function timesBetween(
  { fromMs, toMs, direction }: Paging,
  after: ChangeCursor | null,
  end: ChangeCursor | null,
): Pick<Paging, "fromMs" | "toMs"> {
  const [first, last] = direction === "desc" ? [end, after] : [after, end];
  return {
    fromMs: Math.max(fromMs, first?.atMs ?? fromMs),
    toMs: Math.min(toMs, (last?.atMs ?? toMs) + 1),
  };
}

/** The last of the changes that one statement looks at; null: all that follow. */
async function windowEnd(
  reader: Db,
  query: Paging,
  after: ChangeCursor | null,
): Promise<ChangeCursor | null> {
  const { direction } = query;
  const { fromMs, toMs } = timesBetween(query, after, null);
  let rows = reader
    .selectFrom("changes")
    .select(["changes.at_ms as atMs", "changes.seq"])
    .where("changes.at_ms", ">=", fromMs)
    .where("changes.at_ms", "<", toMs);
  if (after) rows = rows.where(isBeyond(place, beyond(direction), [after.atMs, after.seq]));
  const end = await rows
    .orderBy("changes.at_ms", direction)
    .orderBy("changes.seq", direction)
    .offset(lookedAtOnce - 1)
    .limit(1)
    .executeTakeFirst();
  return end ?? null;
}

interface SelectedRows {
  readonly subject: ChangeSubject;
  /** Of those that are meant; null: the selection says it. */
  readonly ids: readonly number[] | null;
}

export interface SubjectRow extends Pick<
  Tables["sandboxes"],
  "target_id" | "sandbox_id" | "status" | "missing" | "gone_at_ms"
> {
  readonly id: number;
  readonly server_id: string | null;
  readonly server_name: string | null;
}

/** The rows of servers or sandboxes, as `of`. */
export function subjectRows(subject: ChangeSubject) {
  const columns =
    subject === "server"
      ? sql`server_id, server_name from servers`
      : sql`null as server_id, null as server_name from sandboxes`;
  return sql<SubjectRow>`(
    select id, target_id, sandbox_id, status, missing, gone_at_ms, ${columns}
  )`.as("of");
}

function selectChanges(
  reader: Db,
  selection: ChangeSelection,
  { subject, ids }: SelectedRows,
  bySequence = false,
) {
  const { region = [], key = [], server, serverId, sandbox, sandboxId } = selection;
  const { name = [], status = [], from = [], to = [] } = selection;
  let query = reader
    .selectFrom("changes")
    .innerJoin(subjectRows(subject), (join) => join.onRef("of.id", "=", `changes.${subject}`))
    .innerJoin("targets", "targets.id", "of.target_id")
    .select(["changes.seq", "changes.at_ms as atMs", "changes.dwell_ms as dwellMs"])
    .select(["changes.from_status as from", "changes.to_status as to", "changes.observation"])
    .select(["of.sandbox_id as sandboxId", "of.server_id as serverId"])
    .select(["of.server_name as serverName", "targets.region", "targets.key"]);
  if (region.length > 0) query = query.where("targets.region", "in", region);
  if (key.length > 0) query = query.where("targets.key", "in", key);
  if (name.length > 0) query = query.where("of.server_name", "in", name);
  if (from.length > 0) query = query.where("changes.from_status", "in", from);
  if (to.length > 0) query = query.where("changes.to_status", "in", to);
  if (status.length > 0) {
    query = query.where((eb) =>
      eb.or([eb("changes.from_status", "in", status), eb("changes.to_status", "in", status)]),
    );
  }
  if (selection.observations !== true) query = query.where("changes.observation", "is", null);
  if (ids && bySequence) {
    // Without the sign SQLite would look at all changes of these, instead of at those that follow.
    return query.where(sql<boolean>`+${sql.ref(`changes.${subject}`)} in (${sql.join(ids)})`);
  }
  if (ids) return query.where(`changes.${subject}`, "in", ids);
  if (sandbox !== undefined) query = query.where(beginsWith("of.sandbox_id", sandbox));
  if (sandboxId !== undefined) query = query.where("of.sandbox_id", "=", sandboxId);
  if (server !== undefined) query = query.where(isServer(server));
  if (serverId !== undefined) query = query.where("of.server_id", "=", serverId);
  return query;
}

type StoredRow = InferResult<ReturnType<typeof selectChanges>>[number];

function readChange({ seq, region, key, ...row }: StoredRow) {
  const { observation, serverId } = row;
  const subject: ChangeSubject = serverId === null ? "sandbox" : "server";
  return {
    ...row,
    subject,
    target: { region, key },
    from: oneOf(presences, row.from),
    to: oneOf(presences, row.to),
    /** Null: it is a change of status. */
    observation: observation && oneOf(observations, observation),
    cursor: cursorText({ atMs: row.atMs, seq }),
  };
}

/** By its id, how that begins, or its name. */
export function isServer(server: string) {
  return sql<boolean>`(${beginsWith("of.server_id", server)} or "of".server_name = ${server})`;
}

async function newestCursor(reader: Db): Promise<ChangeCursor> {
  // Not the number of the last change that is there: it may be pruned before earlier ones, and a cursor must not go back.
  const seq = await lastSequence(reader);
  const row = await reader
    .selectFrom("changes")
    .select("at_ms")
    .where("seq", "<=", seq)
    .orderBy("seq", "desc")
    .limit(1)
    .executeTakeFirst();
  return { atMs: row?.at_ms ?? 0, seq };
}

/** The rows that a selection names, where they are few: then their changes are found by an index. */
async function rowsOf(
  reader: Db,
  subject: ChangeSubject,
  selection: ChangeSelection,
): Promise<SelectedRows> {
  const { server, serverId, sandbox, sandboxId } = selection;
  const given = [server, serverId, sandbox, sandboxId].some((each) => each !== undefined);
  if (!given) return { subject, ids: null };
  let query = reader.selectFrom(subjectRows(subject)).select("of.id");
  if (serverId !== undefined) query = query.where("of.server_id", "=", serverId);
  if (server !== undefined) query = query.where(isServer(server));
  if (sandbox !== undefined) query = query.where(beginsWith("of.sandbox_id", sandbox));
  if (sandboxId !== undefined) query = query.where("of.sandbox_id", "=", sandboxId);
  const rows = await query.limit(mostByRow + 1).execute();
  return { subject, ids: rows.length > mostByRow ? null : rows.map(({ id }) => id) };
}

async function allRowsOf(
  reader: Db,
  selection: SubjectSelection,
): Promise<readonly SelectedRows[]> {
  const { subject = [], server, serverId, name = [] } = selection;
  const isOfServers = server !== undefined || serverId !== undefined || name.length > 0;
  const subjects = changeSubjects.filter(
    (each) =>
      (subject.length === 0 || subject.includes(each)) && (each === "server" || !isOfServers),
  );
  const found: SelectedRows[] = [];
  for (const each of subjects) found.push(await rowsOf(reader, each, selection));
  return found.filter(({ ids }) => ids?.length !== 0);
}

async function readAfter(
  reader: Db,
  reading: RowReading,
  cursor: string,
  selection: SubjectSelection,
  limit: number,
) {
  const newest = await newestCursor(reader);
  const given = readCursor(cursor);
  // The cursor is of another store: what is later by its clock follows.
  const isUnknown = given.seq > newest.seq;
  const found: StoredRow[] = [];
  for (const selected of await allRowsOf(reader, selection)) {
    const page = selectChanges(reader, selection, selected, true)
      .where("changes.seq", ">", isUnknown ? 0 : given.seq)
      .where("changes.seq", "<=", newest.seq)
      .where("changes.at_ms", ">", isUnknown ? given.atMs : Number.MIN_SAFE_INTEGER)
      .orderBy("changes.seq")
      .limit(limit);
    found.push(...(await page.execute()));
  }
  const rows = found.toSorted((a, b) => a.seq - b.seq).slice(0, limit);
  const last = rows.length === limit ? rows.at(-1) : undefined;
  return {
    changes: reading.all("changes", rows, readChange),
    cursor: cursorText(last ?? newest),
  };
}
