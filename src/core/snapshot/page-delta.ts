import type { Page } from "./page.ts";

/** What takes a snapshot's stored pages to the next one's. */
export interface PageDelta {
  /** New ones, each with the one of the same id that it takes the place of. */
  readonly replaced: readonly { readonly before: Page | null; readonly after: Page }[];
  /** Ids of pages that nothing took the place of. */
  readonly removed: readonly number[];
  /** The next snapshot's pages. */
  readonly all: readonly Page[];
}

export function pageDelta(before: readonly Page[], after: readonly Page[]): PageDelta {
  if (after === before) return { replaced: [], removed: [], all: after };
  const known = new Map(before.map((page) => [page.id, page]));
  const replaced: { before: Page | null; after: Page }[] = [];
  for (const page of after) {
    const earlier = known.get(page.id) ?? null;
    known.delete(page.id);
    if (earlier !== page) replaced.push({ before: earlier, after: page });
  }
  return { replaced, removed: [...known.keys()], all: after };
}
