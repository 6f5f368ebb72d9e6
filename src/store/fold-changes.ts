import type { Bucket, Counted } from "../fleet/buckets.ts";
import { Fold, type Counts } from "../fleet/fold.ts";
import type { RecordedTime } from "../fleet/recorded-time.ts";
import { StepReader, type StoredStep, type ValueSet, type ValuesOf } from "./change-steps.ts";
import type { ChangeSubject } from "./changes.ts";
import type { RowReading } from "./row-reading.ts";
import { readGapsOf, type StoredGap } from "./gaps.ts";
import { keyOf } from "./rollups.ts";
import type { Db } from "./tables.ts";

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
