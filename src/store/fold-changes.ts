import { setImmediate } from "node:timers/promises";
import { sql } from "kysely";
import type { Bucket, Counted } from "../fleet/buckets.ts";
import { Fold, type Counts, type Standing } from "../fleet/fold.ts";
import type { RecordedTime } from "../fleet/recorded-time.ts";
import { presences, type Presence } from "../fleet/status.ts";
import { batches } from "../lib/iterables.ts";
import { changeSubjects, observations, type ChangeSubject } from "./changes.ts";
import { listIn, oneOf, textIn, type RowReading } from "./damaged-rows.ts";
import { readGapsOf, type StoredGap } from "./gaps.ts";
import { isBeyond } from "./sql-helpers.ts";
import type { Db, Tables } from "./tables.ts";

/** A target whose changes are folded, from a moment at which its counts are known. */
export interface FoldedTarget {
  readonly id: number;
  readonly recorded: RecordedTime;
  readonly fromMs: number;
  readonly counts: ReadonlyMap<string, Counts>;
}

/** What a target's changes and gaps say of a cell. */
export interface FoldedCell {
  readonly targetId: number;
  readonly bucket: Bucket;
  /** How many there are when it ends. */
  readonly counts: ReadonlyMap<string, Counts>;
  /** Whether anything changed in it. */
  readonly isChanged: boolean;
}

export interface FoldQuery {
  readonly kinds: readonly Counted[];
  /** Cells begin in UTC. */
  readonly cellMs: number;
  /** Exclusive. */
  readonly toMs: number;
}

/** Separates what is counted from its value. */
const separator = " ";

export function keyOf(counted: Counted, value: string): string {
  return `${counted}${separator}${value}`;
}

export function readKey(key: string): { readonly counted: string; readonly value: string } {
  const end = key.indexOf(separator);
  return { counted: key.slice(0, end), value: key.slice(end + 1) };
}

/** Cells in order, those of all targets together. */
export async function* foldTargets(
  reader: Db,
  targets: readonly FoldedTarget[],
  { kinds, cellMs, toMs }: FoldQuery,
  reading: RowReading,
): AsyncGenerator<readonly FoldedCell[], void> {
  if (targets.length === 0) return;
  const firstMs = Math.min(...targets.map(({ fromMs }) => fromMs));
  const lastMs = Math.max(...targets.map(({ recorded }) => recorded.toMs));
  const ids = targets.map(({ id }) => id);
  const changes = createStepReader(reader, kinds, reading);
  const gaps = await readGapsOf(reader, ids, { fromMs: firstMs, toMs: lastMs });
  const folds = new Map(
    targets.map((target) => [target.id, new TargetFold(target, gaps.get(target.id) ?? [])]),
  );
  const beginMs = Math.floor(firstMs / cellMs) * cellMs;
  const endMs = Math.min(Math.ceil(toMs / cellMs) * cellMs, lastMs + cellMs);
  const cellsUntil = function* (fromMs: number, untilMs: number) {
    for (let atMs = fromMs; atMs + cellMs <= untilMs; atMs += cellMs) {
      yield [...folds.values()].flatMap((fold) => fold.take(atMs, atMs + cellMs) ?? []);
    }
  };
  let atMs = beginMs;
  for await (const rows of changes.steps(ids, beginMs, endMs)) {
    for (const step of await changes.statesOf(rows)) {
      const cellStartMs = Math.floor(step.row.at_ms / cellMs) * cellMs;
      yield* cellsUntil(atMs, cellStartMs);
      atMs = Math.max(atMs, cellStartMs);
      folds.get(step.row.target_id)?.step(step);
    }
  }
  yield* cellsUntil(atMs, endMs);
}

/** The fold of one target, with its gaps. */
class TargetFold {
  private readonly fold: Fold;
  private nextGap = 0;
  private isInGap = false;
  private isChanged = false;
  private readonly target: FoldedTarget;
  private readonly gaps: readonly StoredGap[];

  constructor(target: FoldedTarget, gaps: readonly StoredGap[]) {
    this.target = target;
    this.gaps = gaps;
    this.fold = new Fold({ atMs: target.fromMs, isObserved: true, counts: target.counts });
  }

  step({ row, from, to }: StoredStep): void {
    const { at_ms: atMs, dwell_ms: dwellMs } = row;
    if (atMs < this.target.fromMs || atMs > this.target.recorded.toMs) return;
    this.passGaps(atMs);
    this.isChanged = true;
    this.fold.step({ atMs, from, to, dwellMs });
  }

  take(startMs: number, endMs: number): FoldedCell | null {
    const { id, fromMs, recorded } = this.target;
    if (endMs <= fromMs || startMs > recorded.toMs) return null;
    const untilMs = Math.min(endMs, recorded.toMs);
    this.passGaps(untilMs);
    const bucket = this.fold.take(startMs, untilMs);
    const { isChanged } = this;
    this.isChanged = false;
    return { targetId: id, bucket, counts: this.fold.counts(), isChanged };
  }

  private passGaps(untilMs: number): void {
    for (;;) {
      const gap = this.gaps[this.nextGap];
      const edgeMs = this.isInGap ? gap?.toMs : gap?.fromMs;
      if (edgeMs === undefined || edgeMs > untilMs) return;
      this.isInGap = !this.isInGap;
      this.fold.observe(Math.max(edgeMs, this.target.fromMs), !this.isInGap);
      if (!this.isInGap) this.nextGap += 1;
    }
  }
}

type StepRow = Pick<
  Tables["changes"],
  | "seq"
  | "target_id"
  | "at_ms"
  | "server"
  | "sandbox"
  | "from_status"
  | "to_status"
  | "dwell_ms"
  | "observation"
  | "was_missing"
  | "value_set"
  | "previous_set"
>;

/** A change as it is stored, and what it means. */
interface StoredStep {
  readonly row: StepRow;
  readonly from: Standing | null;
  readonly to: Standing | null;
}

const rowsAtOnce = 5_000;
const idsAtOnce = 500;

/**
 * Reads changes in order of time, and what they mean. Each continues what the one before it said of the same server or
 * sandbox, so that one that cannot be read does not count anything twice. Where none is kept, its own columns say it.
 */
function createStepReader(reader: Db, kinds: readonly Counted[], reading: RowReading) {
  const sets = { server: new Map<number, string[]>(), sandbox: new Map<number, string[]>() };
  const isOfSandboxes = kinds.some((kind) => kind.startsWith("sandbox"));
  const isOfServers = kinds.some((kind) => !kind.startsWith("sandbox"));
  /** What the last change of each server and sandbox left. */
  const states = {
    server: new Map<number, Standing | null>(),
    sandbox: new Map<number, Standing | null>(),
  };

  const select = () =>
    reader
      .selectFrom("changes")
      .select(["seq", "target_id", "at_ms", "server", "sandbox", "from_status", "to_status"])
      .select(["dwell_ms", "observation", "was_missing", "value_set", "previous_set"]);

  const readSets = async (rows: readonly StepRow[]): Promise<void> => {
    const wanted = rows.flatMap((row) => [row.value_set, row.previous_set ?? row.value_set]);
    const ids = [...new Set(wanted)].filter((id) => !sets.server.has(id));
    for (const some of batches(ids, idsAtOnce)) {
      const found = await reader
        .selectFrom("value_sets")
        .selectAll()
        .where("id", "in", some)
        .execute();
      for (const row of found) {
        const keys = reading.read("value_sets", row.id, row, (each) => keysOf(each, kinds));
        sets.server.set(row.id, keys?.server ?? []);
        sets.sandbox.set(row.id, keys?.sandbox ?? []);
      }
    }
  };

  const readRow = (row: StepRow): StoredStep | null =>
    reading.read("changes", row.seq, row, () => {
      const values = (set: number): readonly string[] => sets[subjectOf(row)].get(set) ?? [];
      const { observation, previous_set: before, value_set: after } = row;
      if (observation !== null) oneOf(observations, observation);
      const from = standing(row.from_status, row.was_missing === 1, values(before ?? after));
      const to = standing(row.to_status, observation === "missing", values(after));
      return { row, from, to };
    });

  /** The changes before the first ones of servers and sandboxes. */
  const readPrevious = async (
    rows: readonly StepRow[],
    subject: ChangeSubject,
  ): Promise<readonly StepRow[]> => {
    const found: StepRow[] = [];
    for (const some of batches(rows, idsAtOnce)) {
      const [own, earlier] = [sql.ref(`first.${subject}`), sql.ref(`earlier.${subject}`)];
      const seqs = sql<number>`(
        select (select max(earlier.seq) from changes as earlier
          where ${earlier} = ${own} and earlier.seq < first.seq)
        from changes as first where first.seq in (${sql.join(some.map(({ seq }) => seq))})
      )`;
      found.push(...(await select().where("seq", "in", seqs).execute()));
    }
    return found;
  };

  return {
    async statesOf(rows: readonly StepRow[]): Promise<readonly StoredStep[]> {
      for (const subject of changeSubjects) {
        const known = states[subject];
        const firsts = new Map<number, StepRow>();
        for (const row of rows) {
          const id = row[subject];
          if (id !== null && !known.has(id) && !firsts.has(id)) firsts.set(id, row);
        }
        const previous = await readPrevious([...firsts.values()], subject);
        await readSets([...previous, ...rows]);
        for (const row of previous) {
          const step = readRow(row);
          if (step) known.set(row[subject] ?? 0, step.to);
        }
      }
      return rows.flatMap((row) => {
        const step = readRow(row);
        if (!step) return [];
        const known = states[subjectOf(row)];
        const id = row.server ?? row.sandbox ?? 0;
        const before = known.get(id);
        known.set(id, step.to);
        return [before === undefined ? step : { ...step, from: before }];
      });
    },

    async *steps(
      targetIds: readonly number[],
      fromMs: number,
      toMs: number,
    ): AsyncGenerator<readonly StepRow[], void> {
      let after: readonly [number, number] | null = null;
      for (;;) {
        let page = select()
          .where("target_id", "in", targetIds)
          .where("at_ms", ">=", fromMs)
          .where("at_ms", "<", toMs)
          .orderBy("at_ms")
          .orderBy("seq")
          .limit(rowsAtOnce);
        if (!isOfSandboxes) page = page.where("server", "is not", null);
        if (!isOfServers) page = page.where("sandbox", "is not", null);
        if (after) page = page.where(isBeyond(["at_ms", "seq"], ">", after));
        const rows: readonly StepRow[] = await page.execute();
        yield rows;
        const last = rows.at(-1);
        if (!last || rows.length < rowsAtOnce) return;
        after = [last.at_ms, last.seq];
        await setImmediate();
      }
    },
  };
}

function subjectOf({ server }: StepRow): ChangeSubject {
  return server === null ? "sandbox" : "server";
}

function standing(
  written: Presence,
  isMissing: boolean,
  values: readonly string[],
): Standing | null {
  const presence = oneOf(presences, written);
  return presence === "absent" ? null : { status: presence, isMissing, values };
}

/** The keys under which a server or a sandbox with these attributes counts. One without tags counts under the empty one. */
function keysOf(
  { name, benchmark, tags: written }: Tables["value_sets"] | Omit<Tables["value_sets"], "id">,
  kinds: readonly Counted[],
) {
  const tags = listIn(JSON.parse(written), textIn);
  const valuesOf: Readonly<Record<Counted, readonly string[]>> = {
    server: [""],
    server_name: [name],
    benchmark: [benchmark],
    tag: tags.length === 0 ? [""] : [...new Set(tags)],
    sandbox: [""],
    sandbox_benchmark: [benchmark],
  };
  const keys = (isSandbox: boolean): string[] =>
    kinds
      .filter((kind) => kind.startsWith("sandbox") === isSandbox)
      .flatMap((kind) => valuesOf[kind].map((value) => keyOf(kind, value)));
  return { server: keys(false), sandbox: keys(true) };
}
