import { setImmediate } from "node:timers/promises";
import { sql } from "kysely";
import type { Kysely } from "kysely";
import type { Target } from "../fleet/model.ts";
import { presences } from "../fleet/status.ts";
import type { Presence } from "../fleet/status.ts";
import { lastSequence } from "./commit-sequence.ts";
import { beginsWith, isBeyond } from "./queries.ts";
import { createRowReading, oneOf } from "./row-reading.ts";
import type { Tables } from "./tables.ts";

/** A server was missing from a complete listing, or seen again as it was. */
export type Observation = (typeof observations)[number];

const observations = ["missing", "seen"] as const;

/** A change as it was kept. */
export interface StoredChange {
  /** UTC milliseconds. */
  readonly atMs: number;
  readonly target: Target;
  readonly sandboxId: string;
  readonly serverId: string;
  readonly serverName: string | null;
  readonly from: Presence;
  readonly to: Presence;
  /** How long it was observed in `from`, whole milliseconds; null where that is not known. */
  readonly dwellMs: number | null;
  /** Null: it is a change of status. */
  readonly observation: Observation | null;
  /** Its place among the changes. */
  readonly cursor: string;
}

/** Which changes are asked for. Undefined or empty: all. */
export interface ChangeSelection {
  readonly region?: readonly string[] | undefined;
  readonly key?: readonly string[] | undefined;
  /** The server's id, how it begins, or the server's name. */
  readonly server?: string | undefined;
  /** The sandbox's id, or how it begins. */
  readonly sandbox?: string | undefined;
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
  /** Only what follows this place in that direction. */
  readonly cursor?: string | undefined;
  /** Only what was kept up to this place: `after` gives what comes later. */
  readonly keptUpTo?: string | undefined;
}

/** What was kept after a place. */
export interface LaterChanges {
  /** In the order in which they were kept. */
  readonly changes: readonly StoredChange[];
  /** Where to go on. */
  readonly cursor: string;
}

/** From the first change that was kept to the last. */
export const allTime = { fromMs: Number.MIN_SAFE_INTEGER, toMs: Number.MAX_SAFE_INTEGER } as const;

const changesAtOnce = 1_000;

/** A selection that more servers match is left to the database as a condition. */
const mostServersByRow = 500;

/** What changed, read beside whatever is being written, a page at a time. */
export function createChangeHistory(reader: Kysely<Tables>, reading = createRowReading()) {
  const read = (rows: readonly ChangeRow[]): readonly StoredChange[] =>
    reading.all("changes", rows, ({ seq }) => seq, toChange);

  const select = (selection: ChangeSelection, servers: readonly number[] | null) => {
    const { region = [], key = [], server, sandbox, name = [] } = selection;
    const { status = [], from = [], to = [] } = selection;
    let query = reader
      .selectFrom("changes")
      .innerJoin("servers", "servers.id", "changes.server")
      .innerJoin("targets", "targets.id", "servers.target_id")
      .select([
        "changes.seq",
        "changes.at_ms",
        "changes.from_status",
        "changes.to_status",
        "changes.dwell_ms",
        "changes.observation",
        "servers.sandbox_id",
        "servers.server_id",
        "servers.server_name",
        "targets.region",
        "targets.key",
      ]);
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
    if (sandbox !== undefined) {
      query = query.where(beginsWith("servers.sandbox_id", sandbox));
    }
    if (server !== undefined) query = query.where(isServer(server));
    return query;
  };

  /** The rows of the servers that a selection names, where they are few: then their changes are found by an index. */
  const serversOf = async ({
    server,
    sandbox,
  }: ChangeSelection): Promise<readonly number[] | null> => {
    if (server === undefined && sandbox === undefined) return null;
    let query = reader.selectFrom("servers").select("id");
    if (server !== undefined) query = query.where(isServer(server));
    if (sandbox !== undefined) query = query.where(beginsWith("servers.sandbox_id", sandbox));
    const rows = await query.limit(mostServersByRow + 1).execute();
    return rows.length > mostServersByRow ? null : rows.map(({ id }) => id);
  };

  async function* between({
    fromMs,
    toMs,
    direction,
    cursor,
    keptUpTo,
    ...selection
  }: ChangeQuery): AsyncIterable<StoredChange> {
    const servers = await serversOf(selection);
    if (servers?.length === 0) return;
    const lastSeq = keptUpTo === undefined ? Number.MAX_SAFE_INTEGER : readPlace(keptUpTo).seq;
    let place = cursor === undefined ? null : readPlace(cursor);
    const comparison = direction === "desc" ? "<" : ">";
    for (;;) {
      let query = select(selection, servers)
        .where("changes.seq", "<=", lastSeq)
        .where("changes.at_ms", ">=", fromMs)
        .where("changes.at_ms", "<", toMs)
        .orderBy("changes.at_ms", direction)
        .orderBy("changes.seq", direction)
        .limit(changesAtOnce);
      if (place) {
        const { atMs, seq } = place;
        query = query.where(isBeyond(["changes.at_ms", "changes.seq"], comparison, [atMs, seq]));
      }
      const rows = await query.execute();
      yield* read(rows);
      const last = rows.at(-1);
      if (!last || rows.length < changesAtOnce) return;
      place = { atMs: last.at_ms, seq: last.seq };
      await setImmediate();
    }
  }

  return {
    /** In the order of time, and for one moment in the order in which they were kept, either way. */
    between,

    /** The place of what was kept last: nothing was kept after it yet. */
    async newest(): Promise<string> {
      return placeText(await newestPlace(reader));
    },

    /** What was kept after a place, whatever the clock said. */
    async after(cursor: string, selection: ChangeSelection, limit: number): Promise<LaterChanges> {
      const newest = await newestPlace(reader);
      const place = readPlace(cursor);
      // The place is of another store: what is later by its clock follows.
      const isUnknown = place.seq > newest.seq;
      const servers = await serversOf(selection);
      const rows =
        servers?.length === 0
          ? []
          : await select(selection, servers)
              .where("changes.seq", ">", isUnknown ? 0 : place.seq)
              .where("changes.seq", "<=", newest.seq)
              .where("changes.at_ms", ">", isUnknown ? place.atMs : Number.MIN_SAFE_INTEGER)
              .orderBy("changes.seq")
              .limit(limit)
              .execute();
      const changes = read(rows);
      const last = rows.length === limit ? rows.at(-1) : undefined;
      return { changes, cursor: placeText(last ? { atMs: last.at_ms, seq: last.seq } : newest) };
    },
  };
}

interface ChangeRow {
  readonly seq: number;
  readonly at_ms: number;
  readonly from_status: Presence;
  readonly to_status: Presence;
  readonly dwell_ms: number | null;
  readonly observation: string | null;
  readonly sandbox_id: string;
  readonly server_id: string;
  readonly server_name: string | null;
  readonly region: string;
  readonly key: string;
}

function toChange(row: ChangeRow): StoredChange {
  return {
    atMs: row.at_ms,
    target: { region: row.region, key: row.key },
    sandboxId: row.sandbox_id,
    serverId: row.server_id,
    serverName: row.server_name,
    from: oneOf(presences, row.from_status),
    to: oneOf(presences, row.to_status),
    dwellMs: row.dwell_ms,
    observation: row.observation === null ? null : oneOf(observations, row.observation),
    cursor: placeText({ atMs: row.at_ms, seq: row.seq }),
  };
}

function isServer(server: string) {
  return sql<boolean>`(${beginsWith("servers.server_id", server)} or servers.server_name = ${server})`;
}

/** Where a change is among all that are kept. As text it is for others to hand back, and for nothing else. */
interface Place {
  readonly atMs: number;
  /** The order in which changes were kept, whatever the clock said. */
  readonly seq: number;
}

function placeText({ atMs, seq }: Place): string {
  return `${atMs}_${seq}`;
}

const placePattern = /^(-?\d{1,15})_(\d{1,15})$/;

export function isChangeCursor(text: string): boolean {
  return placePattern.test(text);
}

/** @throws {RangeError} when it is none that was given */
function readPlace(cursor: string): Place {
  const [, atMs, seq] = placePattern.exec(cursor) ?? [];
  if (atMs === undefined || seq === undefined) {
    throw new RangeError("a cursor of changes must be one that they gave");
  }
  return { atMs: Number(atMs), seq: Number(seq) };
}

async function newestPlace(reader: Kysely<Tables>): Promise<Place> {
  // Not the number of the last change that is there: it may be pruned before earlier ones, and a place must not go back.
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
