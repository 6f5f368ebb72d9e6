export interface Summary {
  readonly median: number;
  readonly min: number;
  readonly max: number;
}

/** Null where there is nothing to sum up. */
export function summarize(samples: readonly number[]): Summary | null {
  const sorted = samples.toSorted((a, b) => a - b);
  const [min] = sorted;
  const max = sorted.at(-1);
  if (min === undefined || max === undefined) return null;
  return { median: percentile(samples, 0.5), min, max };
}

/** By the nearest rank; the median of an even number of samples lies between its middle two. */
export function percentile(samples: readonly number[], share: number): number {
  const sorted = samples.toSorted((a, b) => a - b);
  const rank = Math.max(1, Math.ceil(share * sorted.length));
  const value = sorted[rank - 1] ?? Number.NaN;
  const isBetween = share === 0.5 && sorted.length % 2 === 0;
  return isBetween ? (value + (sorted[rank] ?? value)) / 2 : value;
}
