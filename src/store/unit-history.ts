import { sql, type RawBuilder } from "kysely";
import type { Bucket } from "../fleet/buckets.ts";
import { addCounts, countOf, noCounts, type Counts, type Standing } from "../fleet/fold.ts";
import { statuses, type Status } from "../fleet/model.ts";
import { subjectTables } from "./change-rows.ts";
import { StepReader, endedDwells, type StoredStep } from "./change-steps.ts";
import { isServer, subjectRows, type ChangeSubject, type SubjectRow } from "./changes.ts";
import { oneOf, type RowReading } from "./row-reading.ts";
import { TargetFold, type FoldedCell } from "./fold-changes.ts";
import type { Gap } from "../fleet/recorded-time.ts";
import { readGapsOf, type StoredGap } from "./gaps.ts";
import { beginsWith } from "./sql-helpers.ts";
import type { Db } from "./tables.ts";
import type { HistoryTarget } from "./targets.ts";

/** A server or sandbox as it was last observed. */
export interface Unit {
  readonly sandboxId: string;
  /** Null: it is a sandbox. */
  readonly serverId: string | null;
  readonly serverName: string | null;
}

/** Undefined: all. */
export interface UnitFilter {
  /** The server's id, how it begins, or the server's name. */
  readonly server?: string | undefined;
  /** The sandbox's id, or how it begins. */
  readonly sandbox?: string | undefined;
}

export interface UnitQuery {
  readonly subject: ChangeSubject;
  /** UTC milliseconds. */
  readonly fromMs: number;
  /** Exclusive. */
  readonly toMs: number;
  /** Where its time ends. What is not recorded until then counts as unobserved. */
  readonly untilMs: number;
  /** The first sandbox that is wanted. */
  readonly first: string;
  readonly only?: UnitFilter | undefined;
  /** Default: all. */
  readonly isWanted?: (unit: Unit) => boolean;
  /** Which account it counts in. @param name that it had at that moment */
  readonly keyOf: (unit: Unit, name: string) => string;
}

/** How the servers of some sandboxes, or these themselves, spent the range. */
export interface UnitCell {
  readonly units: readonly Unit[];
  /** Its accounts are by key. */
  readonly bucket: Bucket;
  /** Dwell times in occupied that ended, by key. */
  readonly dwellsMs: ReadonlyMap<string, readonly number[]>;
  /** How often those of each account entered error. */
  readonly errors: ReadonlyMap<string, number>;
}

/** So few that a page of them costs about as much as its rows. */
const sandboxesAtOnce = 32;

/** By sandbox, in the order of their ids. The changes of some sandboxes are folded at a time. */
export async function* foldUnits(
  reader: Db,
  target: HistoryTarget,
  query: UnitQuery,
  reading: RowReading,
): AsyncGenerator<UnitCell, void> {
  const { subject, untilMs } = query;
  const fromMs = Math.max(query.fromMs, target.recorded.fromMs);
  if (untilMs < fromMs || query.toMs <= fromMs) return;
  const gaps = await readUnobserved(reader, target, { fromMs, toMs: untilMs });
  // What was committed since the target was read is later than its last poll.
  const toMs = Math.min(query.toMs, target.recorded.toMs + 1);
  const range = { fromMs, toMs, untilMs, gaps };
  let first: string | null = query.first;
  while (first !== null) {
    const found: FoundRows = await readRows(reader, target.id, query, fromMs, first);
    first = found.next;
    const rows = found.rows.filter((row) => query.isWanted?.(unitOf(row)) ?? true);
    if (rows.length === 0) continue;
    const units = new Map(rows.map((row) => [row.id, unitOf(row)]));
    const values = createValues(units, query.keyOf);
    const { fold, steps } = await beginFold(
      reader,
      target.id,
      subject,
      rows,
      values,
      range,
      reading,
    );
    const errors = new Map<string, number>();
    const dwellsMs = new Map<string, number[]>();
    for await (const some of steps) {
      for (const step of some) {
        fold.step(step);
        for (const { key, dwellMs } of endedDwells(step)) {
          const known = dwellsMs.get(key);
          if (known) known.push(dwellMs);
          else dwellsMs.set(key, [dwellMs]);
        }
        if (step.row.observation !== null || step.to?.status !== "error") continue;
        for (const key of step.to.values) errors.set(key, (errors.get(key) ?? 0) + 1);
      }
    }
    const cell = fold.take(fromMs, untilMs);
    if (cell) yield { units: [...units.values()], bucket: cell.bucket, dwellsMs, errors };
  }
}

/** The gaps of a target. What is not recorded until the end of the range is one, too, unless the target is up. */
export async function readUnobserved(
  reader: Db,
  { id, recorded }: HistoryTarget,
  { fromMs, toMs }: Gap,
  isUp = false,
): Promise<readonly StoredGap[]> {
  const endMs = isUp ? toMs : Math.min(toMs, Math.max(fromMs, recorded.toMs));
  const gaps = (await readGapsOf(reader, [id], { fromMs, toMs: endMs })).get(id) ?? [];
  return endMs < toMs ? [...gaps, { fromMs: endMs, toMs, reason: "not_running" }] : gaps;
}

/** The fold of some servers or sandboxes of a target, with what they are when it begins, and the changes that follow. */
export async function beginFold(
  reader: Db,
  targetId: number,
  subject: ChangeSubject,
  rows: readonly SubjectRow[],
  values: (id: number, name: string) => readonly string[],
  range: Gap & { readonly untilMs: number; readonly gaps: readonly StoredGap[] },
  reading: RowReading,
): Promise<{ readonly fold: TargetFold; readonly steps: AsyncIterable<readonly StoredStep[]> }> {
  const { fromMs, toMs, untilMs, gaps } = range;
  const changes = new StepReader(reader, (_, id, { name }) => values(id, name), reading);
  const ids = rows.map(({ id }) => id);
  const states = await changes.statesAt(subject, ids, fromMs);
  const counts = new Map<string, Counts>();
  for (const row of rows) {
    const standing = states.has(row.id)
      ? (states.get(row.id) ?? null)
      : reading.read(subjectTables[subject], row, (each) =>
          presentOf(each, values(each.id, each.server_name ?? "")),
        );
    for (const key of standing?.values ?? []) {
      counts.set(key, addCounts(counts.get(key) ?? noCounts, countOf(standing), 1));
    }
  }
  const whole = { id: targetId, recorded: { fromMs, toMs: untilMs }, fromMs, counts };
  return {
    fold: new TargetFold(whole, gaps),
    steps: changes.steps({ subject, ids }, fromMs, toMs),
  };
}

type FoundRows = Awaited<ReturnType<typeof readRows>>;

/** The rows of some sandboxes, and the id of the sandbox after them. */
async function readRows(
  reader: Db,
  targetId: number,
  { subject, only = {} }: UnitQuery,
  sinceMs: number,
  first: string,
): Promise<{ readonly rows: readonly SubjectRow[]; readonly next: string | null }> {
  const { server, sandbox } = only;
  const since = () => {
    let units = selectUnits(reader, targetId, subject, sinceMs).where("of.sandbox_id", ">=", first);
    if (server !== undefined) units = units.where(isMeant("server", server, isServer(server)));
    if (sandbox !== undefined) {
      units = units.where(isMeant("sandbox", sandbox, beginsWith("of.sandbox_id", sandbox)));
    }
    return units.orderBy("of.sandbox_id");
  };
  const sandboxes = await since()
    .select("of.sandbox_id as id")
    .distinct()
    .limit(sandboxesAtOnce + 1)
    .execute();
  const last = sandboxes.slice(0, sandboxesAtOnce).at(-1);
  if (!last) return { rows: [], next: null };
  const rows = await since().selectAll().where("of.sandbox_id", "<=", last.id).execute();
  return { rows, next: sandboxes[sandboxesAtOnce]?.id ?? null };
}

/** Where an id is given as a whole, nothing else is meant. */
function isMeant(subject: ChangeSubject, text: string, isLike: RawBuilder<boolean>) {
  const id = `${subject}_id`;
  const known = sql`select 1 from ${sql.table(subjectTables[subject])} where ${sql.ref(id)} = ${text}`;
  return sql<boolean>`(${sql.ref(`of.${id}`)} = ${text} or (${isLike} and not exists (${known})))`;
}

/** Those of a target that were there at a moment or later. */
export function selectUnits(reader: Db, targetId: number, subject: ChangeSubject, sinceMs: number) {
  return reader
    .selectFrom(subjectRows(subject))
    .where("of.target_id", "=", targetId)
    .where((eb) => eb.or([eb("gone_at_ms", "is", null), eb("gone_at_ms", ">=", sinceMs)]));
}

function unitOf({ sandbox_id, server_id, server_name }: SubjectRow): Unit {
  return { sandboxId: sandbox_id, serverId: server_id, serverName: server_name };
}

/** The account of each server or sandbox, by the name that it had. */
function createValues(
  units: ReadonlyMap<number, Unit>,
  keyOf: UnitQuery["keyOf"],
): (id: number, name: string) => readonly string[] {
  const known = new Map<number, Map<string, readonly string[]>>();
  return (id, name) => {
    let ofUnit = known.get(id);
    if (!ofUnit) known.set(id, (ofUnit = new Map()));
    let keys = ofUnit.get(name);
    const unit = units.get(id);
    if (!keys) ofUnit.set(name, (keys = unit ? [keyOf(unit, name)] : []));
    return keys;
  };
}

/** What one is of which no change is kept, and which is there. */
function presentOf({ status, missing }: SubjectRow, values: readonly string[]): Standing {
  return { status: oneOf(statuses, status), isMissing: missing > 0, values };
}

/** Whose time is folded: one server or, without its id, one sandbox. */
export interface TimelineQuery extends Gap {
  readonly sandboxId: string;
  readonly serverId: string | null;
  /** Whether its target is up: then nothing is known to have changed since the last poll. */
  readonly isUp: boolean;
}

/** A time in which it had one status; `absent`: it was not there. */
export interface Segment extends Gap {
  readonly status: Status | "unobserved" | "absent";
}

export interface UnitTimeline {
  /** In order, without a gap between them. Time of which nothing is known is unobserved. */
  readonly segments: readonly Segment[];
  /** It changed so often that only the latest changes are read. */
  readonly truncated: boolean;
}

const mostChanges = 2_000;

/** How one server or sandbox spent a range: each change of it and each edge of a gap ends a cell. @param keptFromMs of changes */
export async function foldTimeline(
  reader: Db,
  target: HistoryTarget | undefined,
  keptFromMs: number,
  { sandboxId, serverId, isUp, fromMs, toMs }: TimelineQuery,
  reading: RowReading,
): Promise<UnitTimeline> {
  const segments: Segment[] = [];
  let atMs = fromMs;
  const add = (status: Segment["status"], untilMs: number): void => {
    if (untilMs <= atMs) return;
    const last = segments.at(-1);
    if (last?.status === status) segments[segments.length - 1] = { ...last, toMs: untilMs };
    else segments.push({ status, fromMs: atMs, toMs: untilMs });
    atMs = untilMs;
  };
  if (!target) {
    add("unobserved", toMs);
    return { segments, truncated: false };
  }
  const subject = serverId === null ? "sandbox" : "server";
  const knownMs = Math.min(toMs, Math.max(fromMs, target.recorded.fromMs, keptFromMs));
  let unit = selectUnits(reader, target.id, subject, knownMs).where(
    "of.sandbox_id",
    "=",
    sandboxId,
  );
  if (serverId !== null) unit = unit.where("of.server_id", "=", serverId);
  const rows = await unit.selectAll().execute();
  const oldest = await reader
    .selectFrom("changes")
    .select("at_ms as atMs")
    .where(
      subject,
      "in",
      rows.map(({ id }) => id),
    )
    .where("at_ms", ">=", knownMs)
    .where("at_ms", "<", toMs)
    .orderBy("at_ms", "desc")
    .offset(mostChanges)
    .limit(1)
    .executeTakeFirst();
  const startMs = oldest?.atMs ?? knownMs;
  const gaps = await readUnobserved(reader, target, { fromMs: startMs, toMs }, isUp);
  const range = { fromMs: startMs, toMs, untilMs: toMs, gaps };
  const values = (): readonly string[] => [""];
  const { fold, steps } = await beginFold(reader, target.id, subject, rows, values, range, reading);
  add("unobserved", startMs);
  const edges = gaps.flatMap((gap) => [gap.fromMs, gap.toMs]);
  let next = 0;
  const endCell = (untilMs: number): void => {
    if (untilMs > atMs) add(statusOf(fold.take(atMs, untilMs)), untilMs);
  };
  const passUntil = (untilMs: number): void => {
    for (; (edges[next] ?? untilMs) < untilMs; next += 1) endCell(edges[next] ?? untilMs);
    endCell(untilMs);
  };
  for await (const some of steps) {
    for (const step of some) {
      passUntil(step.row.at_ms);
      fold.step(step);
    }
  }
  passUntil(toMs);
  return { segments, truncated: oldest !== undefined };
}

/** Of a cell in which nothing changed. */
function statusOf(cell: FoldedCell | null): Segment["status"] {
  const account = cell?.bucket.names.get("");
  if (!cell || cell.bucket.unobservedMs > 0 || (account?.unobservedMs ?? 0) > 0)
    return "unobserved";
  return statuses.find((status) => (account?.ms[status] ?? 0) > 0) ?? "absent";
}
