export interface Summary {
  readonly median: number;
  readonly min: number;
  readonly max: number;
}

/** @throws {Error} when there is nothing to summarize */
export function summarize(samples: readonly number[]): Summary {
  if (samples.length === 0) throw new Error("nothing was measured");
  return { median: median(samples), min: Math.min(...samples), max: Math.max(...samples) };
}

export function median(samples: readonly number[]): number {
  const sorted = samples.toSorted((a, b) => a - b);
  const middle = (sorted.length - 1) / 2;
  return (
    ((sorted[Math.floor(middle)] ?? Number.NaN) + (sorted[Math.ceil(middle)] ?? Number.NaN)) / 2
  );
}

/** By the nearest rank. */
export function percentile(samples: readonly number[], share: number): number {
  const sorted = samples.toSorted((a, b) => a - b);
  const rank = Math.max(1, Math.ceil(share * sorted.length));
  return sorted[rank - 1] ?? Number.NaN;
}
