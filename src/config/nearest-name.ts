/**
 * The known name that a misspelt one probably means: the fewest letters added, dropped, changed or
 * swapped, at most a third of the name; null when none is that near.
 */
export function nearestName(name: string, known: readonly string[]): string | null {
  const limit = Math.max(1, Math.floor(name.length / 3));
  let nearest: string | null = null;
  let nearestDistance = limit + 1;
  for (const candidate of known) {
    if (Math.abs(candidate.length - name.length) > limit) continue;
    const distance = editDistance(name.toLowerCase(), candidate.toLowerCase());
    if (distance < nearestDistance) {
      nearest = candidate;
      nearestDistance = distance;
    }
  }
  return nearest;
}

/** Optimal string alignment: a swap of two neighbours counts as one edit. */
export function editDistance(a: string, b: string): number {
  let beforeLast: number[] = [];
  let last = Array.from({ length: b.length + 1 }, (_, column) => column);
  for (let row = 1; row <= a.length; row++) {
    const current = [row];
    for (let column = 1; column <= b.length; column++) {
      const changed = at(last, column - 1) + (a[row - 1] === b[column - 1] ? 0 : 1);
      let best = Math.min(at(last, column) + 1, at(current, column - 1) + 1, changed);
      const swapped = a[row - 1] === b[column - 2] && a[row - 2] === b[column - 1];
      if (row > 1 && column > 1 && swapped) best = Math.min(best, at(beforeLast, column - 2) + 1);
      current.push(best);
    }
    [beforeLast, last] = [last, current];
  }
  return at(last, b.length);
}

function at(row: readonly number[], column: number): number {
  return row[column] ?? Number.POSITIVE_INFINITY;
}
