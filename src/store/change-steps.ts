import { setImmediate } from "node:timers/promises";
import { sql } from "kysely";
import type { Standing } from "../fleet/fold.ts";
import type { Gap } from "../fleet/recorded-time.ts";
import { presences, type Presence } from "../fleet/model.ts";
import { batches } from "../lib/iterables.ts";
import { subjectTables } from "./change-rows.ts";
import { changeSubjects, observations, type ChangeSubject } from "./changes.ts";
import { listIn, oneOf, textIn, type RowReading } from "./row-reading.ts";
import { isBeyond } from "./sql-helpers.ts";
import type { Db, Tables } from "./tables.ts";

type StepRow = Tables["changes"];

/** A change as it is stored, and what it means. */
export interface StoredStep {
  readonly row: StepRow;
  readonly from: Standing | null;
  readonly to: Standing | null;
}

/** The attributes of a server or sandbox. Absent ones are empty. */
export interface ValueSet {
  readonly name: string;
  readonly benchmark: string;
  readonly tags: readonly string[];
}

/** Under which values a server or sandbox with these attributes counts. */
export type ValuesOf = (subject: ChangeSubject, id: number, set: ValueSet) => readonly string[];

/** Whose changes are read: those of some targets, or of some rows of servers or sandboxes. */
export type StepSelection =
  | { readonly targetIds: readonly number[]; readonly subjects: readonly ChangeSubject[] }
  | { readonly subject: ChangeSubject; readonly ids: readonly number[] };

/** So few that polls and deliveries wait briefly. */
const rowsAtOnce = 500;
const idsAtOnce = 500;
const firstWindowMs = 24 * 60 * 60_000;

/**
 * Reads changes in order of time, and what they mean. Each continues what the one before it said of the same server or
 * sandbox, so that one that cannot be read does not count anything twice. Where none is kept, its own columns say it.
 */
export class StepReader {
  private readonly reader: Db;
  private readonly valuesOf: ValuesOf;
  private readonly reading: RowReading;
  /** What the last change of each server and sandbox left. */
  private readonly states: Readonly<Record<ChangeSubject, Map<number, Standing | null>>>;
  private readonly sets = new Map<number, ValueSet>();

  constructor(reader: Db, valuesOf: ValuesOf, reading: RowReading) {
    this.reader = reader;
    this.valuesOf = valuesOf;
    this.reading = reading;
    this.states = {
      server: new Map<number, Standing | null>(),
      sandbox: new Map<number, Standing | null>(),
    };
  }

  /**
   * What servers or sandboxes are at a moment: what the last change before left, or else what the next one found. Those
   * of which no change is kept are not among them.
   */
  async statesAt(
    subject: ChangeSubject,
    ids: readonly number[],
    atMs: number,
  ): Promise<ReadonlyMap<number, Standing | null>> {
    const known = this.states[subject];
    await this.readBefore(subject, ids, atMs);
    const others = ids.filter((id) => !known.has(id));
    for (const row of await this.readNearest(subject, others, "from", atMs)) {
      const step = this.readRow(row);
      if (step) known.set(idOf(row), step.from);
    }
    return known;
  }

  /**
   * Some at a time. Those of rows of servers or sandboxes are sorted for each page, so they are read from windows of time
   * that have about as many as a page.
   */
  async *steps(
    selection: StepSelection,
    fromMs: number,
    toMs: number,
  ): AsyncGenerator<readonly StoredStep[], void> {
    let [atMs, after]: [number, number | null] = [fromMs, null];
    let windowMs = "ids" in selection ? firstWindowMs : toMs - fromMs;
    while (atMs < toMs) {
      const untilMs = Math.min(toMs, atMs + windowMs);
      let page = this.reader
        .selectFrom("changes")
        .selectAll()
        .where("at_ms", ">=", atMs)
        .where("at_ms", "<", untilMs)
        .orderBy("at_ms")
        .orderBy("seq")
        .limit(rowsAtOnce);
      if ("ids" in selection) page = page.where(selection.subject, "in", selection.ids);
      else {
        page = page.where("target_id", "in", selection.targetIds);
        const [only, other] = selection.subjects;
        if (only && !other) page = page.where(only, "is not", null);
      }
      if (after !== null) page = page.where(isBeyond(["at_ms", "seq"], ">", [atMs, after]));
      const rows: readonly StepRow[] = await page.execute();
      yield await this.stepsOf(rows);
      const last = rows.length < rowsAtOnce ? undefined : rows.at(-1);
      if (last) {
        windowMs = "ids" in selection ? Math.max(1, last.at_ms - atMs) : toMs - last.at_ms;
        [atMs, after] = [last.at_ms, last.seq];
      } else {
        if (rows.length < rowsAtOnce / 2) windowMs *= 2;
        [atMs, after] = [untilMs, null];
      }
      await setImmediate();
    }
  }

  private async readSets(rows: readonly StepRow[]): Promise<void> {
    const wanted = rows.flatMap((row) => [row.value_set, row.previous_set ?? row.value_set]);
    const ids = [...new Set(wanted)].filter((id) => !this.sets.has(id));
    for (const some of batches(ids, idsAtOnce)) {
      const found = await this.reader
        .selectFrom("value_sets")
        .selectAll()
        .where("id", "in", some)
        .execute();
      for (const row of found) {
        const set = this.reading.read("value_sets", row, ({ name, benchmark, tags }) => {
          return { name, benchmark, tags: listIn(JSON.parse(tags), textIn) };
        });
        if (set) this.sets.set(row.id, set);
      }
    }
  }

  private readRow(row: StepRow): StoredStep | null {
    return this.reading.read("changes", row, () => {
      const [subject, id] = [subjectOf(row), idOf(row)];
      const values = (setId: number): readonly string[] => {
        const set = this.sets.get(setId);
        return set ? this.valuesOf(subject, id, set) : [];
      };
      const { observation, previous_set: before, value_set: after } = row;
      if (observation !== null) oneOf(observations, observation);
      const from = standing(row.from_status, row.was_missing === 1, values(before ?? after));
      const to = standing(row.to_status, observation === "missing", values(after));
      return { row, from, to };
    });
  }

  /** One change of each of some servers or sandboxes: the nearest one before a moment or from it on. */
  private async readNearest(
    subject: ChangeSubject,
    ids: readonly number[],
    side: "before" | "from",
    atMs: number,
  ): Promise<readonly StepRow[]> {
    const found: StepRow[] = [];
    const own = sql.ref(`changes.${subject}`);
    const [is, order] = side === "before" ? [sql`<`, sql`desc`] : [sql`>=`, sql`asc`];
    for (const some of batches(ids, idsAtOnce)) {
      const seqs = sql<number>`(
        select (select seq from changes where ${own} = subject.id and at_ms ${is} ${atMs}
          order by at_ms ${order}, seq ${order} limit 1)
        from ${sql.table(subjectTables[subject])} as subject where subject.id in (${sql.join(some)})
      )`;
      const rows = this.reader.selectFrom("changes").selectAll().where("seq", "in", seqs);
      found.push(...(await rows.execute()));
    }
    await this.readSets(found);
    return found;
  }

  /** Reads what the last change before a moment left of servers or sandboxes. */
  private async readBefore(
    subject: ChangeSubject,
    ids: readonly number[],
    atMs: number,
  ): Promise<void> {
    for (const row of await this.readNearest(subject, ids, "before", atMs)) {
      const step = this.readRow(row);
      if (step) this.states[subject].set(idOf(row), step.to);
    }
  }

  /** @param rows in order of time */
  private async stepsOf(rows: readonly StepRow[]): Promise<readonly StoredStep[]> {
    for (const subject of changeSubjects) {
      const ids = new Set(rows.flatMap((row) => row[subject] ?? []));
      const others = [...ids].filter((id) => !this.states[subject].has(id));
      await this.readBefore(subject, others, rows[0]?.at_ms ?? 0);
    }
    await this.readSets(rows);
    return rows.flatMap((row) => {
      const step = this.readRow(row);
      if (!step) return [];
      const known = this.states[subjectOf(row)];
      const before = known.get(idOf(row));
      known.set(idOf(row), step.to);
      return [before === undefined ? step : { ...step, from: before }];
    });
  }
}

/** The dwell time in occupied that ends, by the values that it counts under. */
export function endedDwells({ row, from }: StoredStep) {
  const { dwell_ms: dwellMs } = row;
  if (from?.status !== "occupied" || dwellMs === null) return [];
  return from.values.map((key) => ({ key, dwellMs }));
}

export function subjectOf({ server }: StepRow): ChangeSubject {
  return server === null ? "sandbox" : "server";
}

export function idOf({ server, sandbox }: StepRow): number {
  return server ?? sandbox ?? 0;
}

function standing(
  written: Presence,
  isMissing: boolean,
  values: readonly string[],
): Standing | null {
  const presence = oneOf(presences, written);
  return presence === "absent" ? null : { status: presence, isMissing, values };
}

const countedMs = 6 * 60 * 60_000;

/** Whether targets have more changes than some between two moments. They are counted in an index. */
export async function hasMoreChanges(
  reader: Db,
  targets: readonly { readonly id: number; readonly recorded: Gap }[],
  { fromMs, toMs }: Gap,
  most: number,
): Promise<boolean> {
  const ids = targets.map(({ id }) => id);
  const firstMs = targets.reduce((ms, { recorded }) => Math.min(ms, recorded.fromMs), toMs);
  const lastMs = targets.reduce((ms, { recorded }) => Math.max(ms, recorded.toMs + 1), fromMs);
  const endMs = Math.min(toMs, lastMs);
  let left = most;
  for (let atMs = Math.max(fromMs, firstMs); atMs < endMs; atMs += countedMs) {
    const { count } = await reader
      .selectFrom(
        reader
          .selectFrom("changes")
          .select("target_id")
          .where("target_id", "in", ids)
          .where("at_ms", ">=", atMs)
          .where("at_ms", "<", Math.min(atMs + countedMs, endMs))
          .limit(left + 1)
          .as("some"),
      )
      .select(({ fn }) => fn.countAll<number>().as("count"))
      .executeTakeFirstOrThrow();
    left -= count;
    if (left < 0) return true;
    await setImmediate();
  }
  return false;
}
