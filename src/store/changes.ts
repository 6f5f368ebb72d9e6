import { setImmediate } from "node:timers/promises";
import { sql, type InferResult } from "kysely";
import { statusAfter, statusBefore } from "../fleet/diff.ts";
import type { Target } from "../fleet/model.ts";
import { presences, type Presence } from "../fleet/status.ts";
import { batches, paced } from "../lib/iterables.ts";
import {
  beginsWith,
  isBeyond,
  lastSequence,
  lookedAtOnce,
  prepareRows,
  rowsPerInsert,
  takeSequence,
} from "./sql-helpers.ts";
import { createRowReading, oneOf } from "./damaged-rows.ts";
import type { PollDiff } from "./snapshots.ts";
import type { Db } from "./tables.ts";

/**
 * Within the transaction of the polls, after their servers were written: each change refers to its server's row, which the
 * statement looks up, so that no map of row ids has to be kept.
 *
 * @param polls in their order
 */
export async function writeChanges(
  trx: Db,
  targetId: number,
  polls: readonly PollDiff[],
): Promise<void> {
  const count = polls.reduce(
    (sum, { diff }) => sum + diff.changes.length + diff.interruptions.length,
    0,
  );
  if (count === 0) return;
  const last = await takeSequence(trx, count);
  const rows = changeRows(targetId, polls, last - count + 1);
  for await (const some of paced(batches(rows, rowsPerInsert))) await insertChanges(trx, some);
}

type ChangeRow = readonly (string | number | null)[];

function* changeRows(
  targetId: number,
  polls: readonly PollDiff[],
  firstSeq: number,
): Iterable<ChangeRow> {
  let seq = firstSeq;
  for (const { at, diff } of polls) {
    for (const each of [...diff.changes, ...diff.interruptions]) {
      const { sandboxId, before, after, kind, dwellMs } = each;
      const server = [targetId, sandboxId, (after ?? before)?.id ?? ""];
      const observation = kind === "missing" || kind === "seen" ? kind : null;
      const statuses = [statusBefore(each), statusAfter(each)];
      yield [seq, at.utcMs, ...server, ...statuses, dwellMs, observation];
      seq += 1;
    }
  }
}

const insertChanges = prepareRows(
  (db, rows: readonly ChangeRow[]) => {
    const values = rows.map(
      ([seq, atMs, targetId, sandboxId, serverId, ...change]) => sql`(${seq}, ${atMs}, (
        select id from servers
        where target_id = ${targetId} and sandbox_id = ${sandboxId} and server_id = ${serverId}
      ), ${sql.join(change)})`,
    );
    const statement = sql`
      insert into changes (seq, at_ms, server, from_status, to_status, dwell_ms, observation)
      values ${sql.join(values)}
    `;
    return { compile: () => statement.compile(db) };
  },
  (row) => row,
);

/** A server was missing from a complete listing, or observed again as it was. */
export type Observation = (typeof observations)[number];

const observations = ["missing", "seen"] as const;

/** A change as it is stored. */
export type StoredChange = ReturnType<typeof readChange>;

/** Some sandboxes of a target, in the order of their ids; the first and the last one are among them. */
export interface SandboxRange {
  readonly target: Target;
  readonly first: string;
  readonly last: string;
}

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
  readonly sandboxes?: SandboxRange | undefined;
  readonly name?: readonly string[] | undefined;
  /** From one of these, or to one. */
  readonly status?: readonly Presence[] | undefined;
  readonly from?: readonly Presence[] | undefined;
  readonly to?: readonly Presence[] | undefined;
  /** Whether observations are asked for too. Default: no. */
  readonly observations?: boolean | undefined;
}

export interface ChangeQuery extends ChangeSelection {
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

const changesAtOnce = 1_000;

/** A selection that more servers match is left to the database as a condition. */
const mostServersByRow = 500;

/** Reads changes in pages, concurrently with writes. */
export function createChangeHistory(reader: Db, reading = createRowReading()) {
  const read = (rows: readonly StoredRow[]): readonly StoredChange[] =>
    reading.all("changes", rows, ({ seq }) => seq, readChange);

  /** The rows of the servers that a selection names, where they are few: then their changes are found by an index. */
  const serversOf = async ({ server, serverId, sandbox, sandboxes }: ChangeSelection) => {
    if ([server, serverId, sandbox, sandboxes].every((each) => each === undefined)) return null;
    let query = reader.selectFrom("servers").select("id");
    if (serverId !== undefined) query = query.where("server_id", "=", serverId);
    if (server !== undefined) query = query.where(isServer(server));
    if (sandbox !== undefined) query = query.where(beginsWith("servers.sandbox_id", sandbox));
    if (sandboxes) query = query.where(isIn(sandboxes));
    const rows = await query.limit(mostServersByRow + 1).execute();
    return rows.length > mostServersByRow ? null : rows.map(({ id }) => id);
  };

  /** In the order of time, and for one moment in the order in which they were stored, either way. */
  async function* between(query: ChangeQuery): AsyncGenerator<StoredChange, void> {
    const { fromMs, toMs, direction, keptUpTo } = query;
    const servers = await serversOf(query);
    if (servers?.length === 0) return;
    const lastSeq = keptUpTo === undefined ? Number.MAX_SAFE_INTEGER : readCursor(keptUpTo).seq;
    let after = query.cursor === undefined ? null : readCursor(query.cursor);
    for (;;) {
      const end: Cursor | null = servers ? null : await windowEnd(reader, query, after);
      let page = selectChanges(reader, query, servers)
        .where("changes.seq", "<=", lastSeq)
        .where("changes.at_ms", ">=", fromMs)
        .where("changes.at_ms", "<", toMs)
        .orderBy("changes.at_ms", direction)
        .orderBy("changes.seq", direction)
        .limit(changesAtOnce);
      if (after) page = page.where(isBeyond(place, beyond(direction), [after.atMs, after.seq]));
      if (end) {
        const until = direction === "desc" ? ">=" : "<=";
        page = page.where(isBeyond(place, until, [end.atMs, end.seq]));
      }
      const rows = await page.execute();
      yield* read(rows);
      after = rows.length < changesAtOnce ? end : (rows.at(-1) ?? null);
      if (after === null) return;
      await setImmediate();
    }
  }

  return {
    between,

    /** The ids of sandboxes of a target that have or had servers, from one on, in their order. */
    async sandboxes({ region, key }: Target, first: string, limit: number) {
      const rows = await reader
        .selectFrom("servers")
        .innerJoin("targets", "targets.id", "servers.target_id")
        .select("sandbox_id")
        .distinct()
        .where("region", "=", region)
        .where("key", "=", key)
        .where("sandbox_id", ">=", first)
        .orderBy("sandbox_id")
        .limit(limit)
        .execute();
      return rows.map((row) => row.sandbox_id);
    },

    /** From when on changes of some targets are kept: from a moment, or later where servers were known before their first. */
    async keptFrom(
      { region = [], key = [] }: Pick<ChangeSelection, "region" | "key">,
      fromMs: number,
    ) {
      const whole = { fromMs: Number.MIN_SAFE_INTEGER, toMs: Number.MAX_SAFE_INTEGER };
      const all = { region, key, observations: true, ...whole, direction: "asc" } as const;
      const first = (await between(all).next()).value;
      if (!first || first.atMs <= fromMs) return fromMs;
      let known = reader
        .selectFrom("servers")
        .innerJoin("targets", "targets.id", "servers.target_id")
        .select("servers.id")
        // Without a kept change, a server has been there since before.
        .where(sql<boolean>`coalesce((
          select from_status from changes where server = servers.id order by seq limit 1
        ), case when gone_at_ms is null then 'present' else 'absent' end) <> 'absent'`);
      if (region.length > 0) known = known.where("region", "in", region);
      if (key.length > 0) known = known.where("key", "in", key);
      return (await known.limit(1).executeTakeFirst()) ? first.atMs : fromMs;
    },

    /** The cursor of what was stored last: nothing was stored after it yet. */
    async newest(): Promise<string> {
      return cursorText(await newestCursor(reader));
    },

    /** What was stored after a cursor, in that order, whatever the clock said; and where to go on. */
    async after(cursor: string, selection: ChangeSelection, limit: number) {
      const newest = await newestCursor(reader);
      const given = readCursor(cursor);
      // The cursor is of another store: what is later by its clock follows.
      const isUnknown = given.seq > newest.seq;
      const servers = await serversOf(selection);
      const rows =
        servers?.length === 0
          ? []
          : await selectChanges(reader, selection, servers)
              .where("changes.seq", ">", isUnknown ? 0 : given.seq)
              .where("changes.seq", "<=", newest.seq)
              .where("changes.at_ms", ">", isUnknown ? given.atMs : Number.MIN_SAFE_INTEGER)
              .orderBy("changes.seq")
              .limit(limit)
              .execute();
      const last = rows.length === limit ? rows.at(-1) : undefined;
      return { changes: read(rows), cursor: cursorText(last ?? newest) };
    },
  };
}

const place = ["changes.at_ms", "changes.seq"];

function beyond(direction: ChangeQuery["direction"]): "<" | ">" {
  return direction === "desc" ? "<" : ">";
}

/** The last of the changes that one statement looks at; null: all that follow. */
async function windowEnd(
  reader: Db,
  { fromMs, toMs, direction }: Pick<ChangeQuery, "fromMs" | "toMs" | "direction">,
  after: Cursor | null,
): Promise<Cursor | null> {
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

/** @param servers the rows of those that are meant; null: the selection says it */
function selectChanges(reader: Db, selection: ChangeSelection, servers: readonly number[] | null) {
  const { region = [], key = [], server, serverId, sandbox, sandboxes, name = [] } = selection;
  const { status = [], from = [], to = [] } = selection;
  let query = reader
    .selectFrom("changes")
    .innerJoin("servers", "servers.id", "changes.server")
    .innerJoin("targets", "targets.id", "servers.target_id")
    .select(["changes.seq", "changes.at_ms as atMs", "changes.dwell_ms as dwellMs"])
    .select(["changes.from_status as from", "changes.to_status as to", "changes.observation"])
    .select(["servers.sandbox_id as sandboxId", "servers.server_id as serverId"])
    .select(["servers.server_name as serverName", "targets.region", "targets.key"]);
  if (region.length > 0) query = query.where("targets.region", "in", region);
  if (key.length > 0) query = query.where("targets.key", "in", key);
  if (name.length > 0) query = query.where("servers.server_name", "in", name);
  if (from.length > 0) query = query.where("changes.from_status", "in", from);
  if (to.length > 0) query = query.where("changes.to_status", "in", to);
  if (status.length > 0) {
    query = query.where((eb) =>
      eb.or([eb("changes.from_status", "in", status), eb("changes.to_status", "in", status)]),
    );
  }
  if (selection.observations !== true) query = query.where("changes.observation", "is", null);
  if (servers) return query.where("changes.server", "in", servers);
  if (sandbox !== undefined) query = query.where(beginsWith("servers.sandbox_id", sandbox));
  if (sandboxes) query = query.where(isIn(sandboxes));
  if (server !== undefined) query = query.where(isServer(server));
  if (serverId !== undefined) query = query.where("servers.server_id", "=", serverId);
  return query;
}

type StoredRow = InferResult<ReturnType<typeof selectChanges>>[number];

function readChange({ seq, region, key, ...row }: StoredRow) {
  const { observation } = row;
  return {
    ...row,
    target: { region, key },
    from: oneOf(presences, row.from),
    to: oneOf(presences, row.to),
    /** Null: it is a change of status. */
    observation: observation && oneOf(observations, observation),
    cursor: cursorText({ atMs: row.atMs, seq }),
  };
}

function isServer(server: string) {
  return sql<boolean>`(${beginsWith("servers.server_id", server)} or servers.server_name = ${server})`;
}

function isIn({ target, first, last }: SandboxRange) {
  return sql<boolean>`(
    servers.target_id = (select id from targets where region = ${target.region} and key = ${target.key})
    and servers.sandbox_id >= ${first} and servers.sandbox_id <= ${last}
  )`;
}

/** The position of a change among all that are stored. As text it is for others to hand back, and for nothing else. */
interface Cursor {
  readonly atMs: number;
  /** The order in which changes were stored, whatever the clock said. */
  readonly seq: number;
}

function cursorText({ atMs, seq }: Cursor): string {
  return `${atMs}_${seq}`;
}

const cursorPattern = /^(-?\d{1,15})_(\d{1,15})$/;

export function isChangeCursor(text: string): boolean {
  return cursorPattern.test(text);
}

/** @throws {RangeError} when it is not a cursor */
function readCursor(text: string): Cursor {
  const [, atMs, seq] = cursorPattern.exec(text) ?? [];
  if (atMs === undefined || seq === undefined) {
    throw new RangeError("a cursor of changes must be one that they gave");
  }
  return { atMs: Number(atMs), seq: Number(seq) };
}

async function newestCursor(reader: Db): Promise<Cursor> {
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
