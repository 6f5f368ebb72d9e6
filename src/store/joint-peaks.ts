import { bucketStart, type Counted } from "../fleet/buckets.ts";
import { JointFold } from "../fleet/fold.ts";
import type { Target } from "../fleet/model.ts";
import { StepReader } from "./change-steps.ts";
import type { RowReading } from "./row-reading.ts";
import { keysOf, subjectsOf } from "./fold-changes.ts";
import { readGapsOf } from "./gaps.ts";
import { readCounts, readKey } from "./rollups.ts";
import type { Db } from "./tables.ts";
import type { HistoryTarget } from "./targets.ts";

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
