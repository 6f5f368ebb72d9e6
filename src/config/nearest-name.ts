/**
 * The known name that a misspelt one probably means: the fewest letters added, dropped, changed or
 * swapped, at most a third of the name; null when none is that near.
 */
export function nearestName(name: string, known: readonly string[]): string | null {
  const most = Math.max(1, Math.floor(name.length / 3));
  let nearest: { readonly candidate: string; readonly edits: number } | null = null;
  for (const candidate of known) {
    if (Math.abs(candidate.length - name.length) > most) continue;
    const edits = editDistance(name.toLowerCase(), candidate.toLowerCase());
    if (edits <= most && edits < (nearest?.edits ?? Infinity)) nearest = { candidate, edits };
  }
  return nearest?.candidate ?? null;
}

/** Optimal string alignment: a swap of two neighbours counts as one edit. */
function editDistance(a: string, b: string): number {
  const rows = [Array.from({ length: b.length + 1 }, (_, column) => column)];
  const at = (row: number, column: number): number => rows[row]?.[column] ?? Infinity;
  for (let row = 1; row <= a.length; row++) {
    const current = [row];
    rows.push(current);
    for (let column = 1; column <= b.length; column++) {
      const changed = at(row - 1, column - 1) + (a[row - 1] === b[column - 1] ? 0 : 1);
      const isSwap = a[row - 1] === b[column - 2] && a[row - 2] === b[column - 1];
      const swapped = isSwap ? at(row - 2, column - 2) + 1 : Infinity;
      const shifted = Math.min(at(row - 1, column), at(row, column - 1)) + 1;
      current.push(Math.min(changed, swapped, shifted));
    }
  }
  return at(a.length, b.length);
}
