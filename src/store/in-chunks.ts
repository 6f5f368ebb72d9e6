/** So many rows at a time: a bounded statement, and few different ones to keep prepared. */
export function* inChunks<Row>(
  rows: readonly Row[],
  rowsPerStatement: number,
): Iterable<readonly Row[]> {
  for (let start = 0; start < rows.length; start += rowsPerStatement) {
    yield rows.slice(start, start + rowsPerStatement);
  }
}
