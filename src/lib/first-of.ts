/** The first N at most; what follows is not asked for. */
export async function firstOf<Item>(
  items: AsyncIterable<Item>,
  most: number,
): Promise<readonly Item[]> {
  const first: Item[] = [];
  if (most <= 0) return first;
  for await (const item of items) {
    first.push(item);
    if (first.length >= most) break;
  }
  return first;
}
