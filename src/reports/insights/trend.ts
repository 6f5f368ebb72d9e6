/**
 * The median of the slopes of all pairs of values, one unit apart each (Theil 1950, Sen 1968): a few
 * odd ones do not move it.
 */
export function medianSlope(values: readonly number[]): number {
  const slopes: number[] = [];
  for (const [index, later] of values.entries()) {
    for (const [before, earlier] of values.slice(0, index).entries()) {
      slopes.push((later - earlier) / (index - before));
    }
  }
  return median(slopes);
}

/** Of nothing it is 0. */
export function median(values: readonly number[]): number {
  const sorted = values.toSorted((one, other) => one - other);
  const upper = sorted[Math.floor(sorted.length / 2)] ?? 0;
  const lower = sorted[Math.floor((sorted.length - 1) / 2)] ?? 0;
  return (lower + upper) / 2;
}

/**
 * How likely values in random order would rise at least as steadily (Mann 1945, Kendall 1955): exact, by
 * counting the orders that do. Equal values count as no rise, so that it is rather too high.
 */
export function chanceOfRise(values: readonly number[]): number {
  let rises = 0;
  for (const [index, later] of values.entries()) {
    rises += values.slice(0, index).filter((earlier) => earlier < later).length;
  }
  const orders = ordersByRises(values.length);
  const all = orders.reduce((sum, count) => sum + count, 0);
  const asSteady = orders.slice(rises).reduce((sum, count) => sum + count, 0);
  return asSteady / all;
}

/** How many orders of so many values have 0, 1, 2, ... pairs that rise. */
function ordersByRises(length: number): readonly number[] {
  let orders = [1];
  for (let size = 2; size <= length; size++) {
    const next = Array.from({ length: orders.length + size - 1 }, () => 0);
    for (const [rises, count] of orders.entries()) {
      for (let more = 0; more < size; more++) {
        next[rises + more] = (next[rises + more] ?? 0) + count;
      }
    }
    orders = next;
  }
  return orders;
}
