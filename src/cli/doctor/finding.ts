/** `note`: nothing is wrong, but somebody may want to know. */
export type Level = "ok" | "note" | "warning" | "failure";

/** What a check found. No text in it contains a secret. */
export interface Finding {
  readonly level: Level;
  readonly text: string;
  /** What to do about it. */
  readonly mend?: string;
}

/** The findings of one subject, such as a region. */
export interface Section {
  readonly title: string;
  readonly findings: readonly Finding[];
}

/** Does something with all items, at most a number of them at a time. */
export async function mapSome<Item, Result>(
  items: readonly Item[],
  atOnce: number,
  work: (item: Item) => Promise<Result>,
): Promise<readonly Result[]> {
  const results: Result[] = [];
  const waiting = items.entries();
  const worker = async (): Promise<void> => {
    for (const [index, item] of waiting) results[index] = await work(item);
  };
  await Promise.all(Array.from({ length: atOnce }, worker));
  return results;
}
