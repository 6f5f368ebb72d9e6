import { bucketStart, type Bucket, type Counted } from "../fleet/buckets.ts";
import { Fold, JointFold, type Counts } from "../fleet/fold.ts";
import type { Target } from "../fleet/model.ts";
import type { RecordedTime } from "../fleet/recorded-time.ts";
import { StepReader, type StoredStep, type ValueSet, type ValuesOf } from "./change-steps.ts";
import type { ChangeSubject } from "./changes.ts";
import type { RowReading } from "./row-reading.ts";
import { readGapsOf, type StoredGap } from "./gaps.ts";
import { keyOf, readCounts, readKey } from "./rollups.ts";
import type { Db } from "./tables.ts";
import type { HistoryTarget } from "./targets.ts";

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
}

export interface FoldQuery {
  readonly kinds: readonly Counted[];
  /** Cells begin in UTC. */
  readonly cellMs: number;
  /** Exclusive. */
  readonly toMs: number;
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
  const changes = new StepReader(reader, keysOf(kinds), reading);
  const selection = { targetIds: ids, subjects: subjectsOf(kinds) };
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
  for await (const steps of changes.steps(selection, beginMs, endMs)) {
    for (const step of steps) {
      const cellStartMs = Math.floor(step.row.at_ms / cellMs) * cellMs;
      yield* cellsUntil(atMs, cellStartMs);
      atMs = Math.max(atMs, cellStartMs);
      folds.get(step.row.target_id)?.step(step);
    }
  }
  yield* cellsUntil(atMs, endMs);
}

/** The fold of one target, with its gaps. */
export class TargetFold {
  private readonly fold: Fold;
  private nextGap = 0;
  private isInGap = false;
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
    this.fold.step({ atMs, from, to, dwellMs });
  }

  take(startMs: number, endMs: number): FoldedCell | null {
    const { id, fromMs, recorded } = this.target;
    if (endMs <= fromMs || startMs > recorded.toMs) return null;
    const untilMs = Math.min(endMs, recorded.toMs);
    this.passGaps(untilMs);
    const bucket = this.fold.take(startMs, untilMs);
    return { targetId: id, bucket, counts: this.fold.counts() };
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

function isOfSandboxes(kind: Counted): boolean {
  return kind.startsWith("sandbox");
}

export function subjectsOf(kinds: readonly Counted[]): readonly ChangeSubject[] {
  return [
    ...(kinds.some((kind) => !isOfSandboxes(kind)) ? ["server" as const] : []),
    ...(kinds.some(isOfSandboxes) ? ["sandbox" as const] : []),
  ];
}

/** The keys under which servers and sandboxes count. One without tags counts under the empty one. */
export function keysOf(kinds: readonly Counted[]): ValuesOf {
  const known = { server: new Map<ValueSet, string[]>(), sandbox: new Map<ValueSet, string[]>() };
  return (subject, _, set) => {
    let keys = known[subject].get(set);
    if (!keys) {
      const { name, benchmark, tags } = set;
      const valuesOf: Readonly<Record<Counted, readonly string[]>> = {
        server: [""],
        server_name: [name],
        benchmark: [benchmark],
        tag: tags.length === 0 ? [""] : [...new Set(tags)],
        sandbox: [""],
        sandbox_benchmark: [benchmark],
      };
      keys = kinds
        .filter((kind) => isOfSandboxes(kind) === (subject === "sandbox"))
        .flatMap((kind) => valuesOf[kind].map((value) => keyOf(kind, value)));
      known[subject].set(set, keys);
    }
    return keys;
  };
}

export interface PeakQuery {
  /** UTC milliseconds. */
  readonly fromMs: number;
  readonly toMs: number;
  readonly counted: Counted;
  /** Which peak those of a value of a target are part of. Null: none. */
  readonly groupOf: (target: Target, value: string) => string | null;
}

/** The most of each group that were occupied at one moment, whatever their targets. Each counts while it was observed. */
export async function readJointPeaks(
  reader: Db,
  all: readonly HistoryTarget[],
  { fromMs, toMs, counted, groupOf }: PeakQuery,
  reading: RowReading,
): Promise<ReadonlyMap<string, number>> {
  const targets = all.filter(({ recorded }) => recorded.fromMs < toMs && recorded.toMs >= fromMs);
  const byId = new Map(targets.map((each) => [each.id, each.target]));
  const ids = [...byId.keys()];
  const hourMs = bucketStart("1h", fromMs);
  const starts = targets.map(({ id, recorded, rolledUpToMs }) => {
    const firstMs = bucketStart("1h", recorded.fromMs);
    return { id, atMs: Math.max(firstMs, Math.min(hourMs, rolledUpToMs)) };
  });
  const beginMs = starts.reduce((ms, { atMs }) => Math.min(ms, atMs), fromMs);
  const fold = new JointFold(beginMs);
  const groupsOf = (id: number, keys: readonly string[]): readonly string[] => {
    const target = byId.get(id);
    return target ? keys.flatMap((key) => groupOf(target, readKey(key).value) ?? []) : [];
  };

  interface Edge {
    readonly atMs: number;
    readonly pass: () => void;
  }
  const counts = await readCounts(reader, starts, [counted]);
  const begins = starts.map(({ id, atMs }): Edge => {
    const pass = (): void => {
      for (const [key, known] of counts.get(id) ?? []) {
        for (const group of groupsOf(id, [key])) fold.add(id, atMs, group, known, 1);
      }
    };
    return { atMs, pass };
  });
  const observe = (id: number, atMs: number, isObserved: boolean): Edge => {
    return { atMs, pass: () => fold.observe(id, atMs, isObserved) };
  };
  const gaps = await readGapsOf(reader, ids, { fromMs: beginMs, toMs });
  const edges = [
    ...begins,
    { atMs: fromMs, pass: () => void fold.take(beginMs, fromMs) },
    ...gaps
      .entries()
      .flatMap(([id, own]) =>
        own.flatMap((gap) => [observe(id, gap.fromMs, false), observe(id, gap.toMs, true)]),
      ),
    ...targets.map(({ id, recorded }) => observe(id, recorded.toMs, false)),
  ].toSorted((one, other) => one.atMs - other.atMs);
  let next = 0;
  const passEdges = (untilMs: number): void => {
    for (; next < edges.length && (edges[next]?.atMs ?? 0) <= untilMs; next += 1)
      edges[next]?.pass();
  };

  const changes = new StepReader(reader, keysOf([counted]), reading);
  const selection = { targetIds: ids, subjects: subjectsOf([counted]) };
  const startOf = new Map(starts.map(({ id, atMs }) => [id, atMs]));
  for await (const steps of changes.steps(selection, beginMs, toMs)) {
    for (const { row, from, to } of steps) {
      const { target_id: id, at_ms: atMs } = row;
      if (atMs < (startOf.get(id) ?? 0)) continue;
      passEdges(atMs);
      fold.step(id, {
        atMs,
        from: from && { ...from, values: groupsOf(id, from.values) },
        to: to && { ...to, values: groupsOf(id, to.values) },
        dwellMs: null,
      });
    }
  }
  passEdges(toMs);
  const { names } = fold.take(fromMs, toMs);
  return new Map(names.entries().map(([group, { peaks }]) => [group, peaks?.occupied ?? 0]));
}
