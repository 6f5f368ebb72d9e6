import type { Bucket } from "../fleet/buckets.ts";
import { addCounts, countOf, noCounts, type Counts, type Standing } from "../fleet/fold.ts";
import { statuses } from "../fleet/status.ts";
import { createStepReader, endedDwells, subjectTables } from "./change-steps.ts";
import { subjectRows, type ChangeSubject, type SubjectRow } from "./changes.ts";
import { oneOf, type RowReading } from "./damaged-rows.ts";
import { TargetFold } from "./fold-changes.ts";
import { readGapsOf } from "./gaps.ts";
import type { HistoryTarget } from "./rolled-up.ts";
import type { Db } from "./tables.ts";

/** A server or sandbox as it was last observed. */
export interface Unit {
  readonly sandboxId: string;
  /** Null: it is a sandbox. */
  readonly serverId: string | null;
  readonly serverName: string | null;
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
  const { recorded } = target;
  const { subject, untilMs } = query;
  const fromMs = Math.max(query.fromMs, recorded.fromMs);
  if (untilMs < fromMs || query.toMs <= fromMs) return;
  const endMs = Math.min(untilMs, Math.max(fromMs, recorded.toMs));
  const gaps = (await readGapsOf(reader, [target.id], { fromMs, toMs: endMs })).get(target.id);
  const unrecorded = { fromMs: endMs, toMs: untilMs, reason: "not_running" as const };
  let first: string | null = query.first;
  while (first !== null) {
    const found: FoundRows = await readRows(reader, target.id, subject, fromMs, first);
    first = found.next;
    const rows = found.rows.filter((row) => query.isWanted?.(unitOf(row)) ?? true);
    if (rows.length === 0) continue;
    const units = new Map(rows.map((row) => [row.id, unitOf(row)]));
    const values = createValues(units, query.keyOf);
    const changes = createStepReader(reader, (_, id, { name }) => values(id, name), reading);
    const ids = [...units.keys()];
    const states = await changes.statesAt(subject, ids, fromMs);
    const counts = new Map<string, Counts>();
    for (const row of rows) {
      const standing = states.has(row.id)
        ? (states.get(row.id) ?? null)
        : reading.read(subjectTables[subject], row.id, row, (each) =>
            presentOf(each, values(each.id, each.server_name ?? "")),
          );
      for (const key of standing?.values ?? []) {
        counts.set(key, addCounts(counts.get(key) ?? noCounts, countOf(standing), 1));
      }
    }
    const whole = { id: target.id, recorded: { fromMs, toMs: untilMs }, fromMs, counts };
    const fold = new TargetFold(whole, [...(gaps ?? []), unrecorded]);
    const errors = new Map<string, number>();
    const dwellsMs = new Map<string, number[]>();
    // What was committed since the target was read is later than its last poll.
    const toMs = Math.min(query.toMs, recorded.toMs + 1);
    for await (const some of changes.steps({ subject, ids }, fromMs, toMs)) {
      for (const step of await changes.statesOf(some)) {
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

type FoundRows = Awaited<ReturnType<typeof readRows>>;

/** The rows of some sandboxes that were there at a moment or later, and the id of the sandbox after them. */
async function readRows(
  reader: Db,
  targetId: number,
  subject: ChangeSubject,
  sinceMs: number,
  first: string,
): Promise<{ readonly rows: readonly SubjectRow[]; readonly next: string | null }> {
  const since = () =>
    reader
      .selectFrom(subjectRows(subject))
      .where("of.target_id", "=", targetId)
      .where("of.sandbox_id", ">=", first)
      .where((eb) => eb.or([eb("gone_at_ms", "is", null), eb("gone_at_ms", ">=", sinceMs)]))
      .orderBy("of.sandbox_id");
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
