/** So many rows at a time: a bounded statement, and few different ones to keep prepared. */
export function* inChunks<Row>(
  rows: readonly Row[],
  rowsPerStatement: number,
): Iterable<readonly Row[]> {
  for (let start = 0; start < rows.length; start += rowsPerStatement) {
    yield rows.slice(start, start + rowsPerStatement);
  }
}

/** The same of rows that are made one by one. */
export function* batches<Row>(rows: Iterable<Row>, size: number): Iterable<readonly Row[]> {
  let batch: Row[] = [];
  for (const row of rows) {
    batch.push(row);
    if (batch.length < size) continue;
    yield batch;
    batch = [];
  }
  if (batch.length > 0) yield batch;
}
