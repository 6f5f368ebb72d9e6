import { createPackedSnapshot } from "./packed-snapshot.ts";
import type { PackedSnapshot } from "./packed-snapshot.ts";
import { statusIn } from "./page-records.ts";
import { PageRoom } from "./page-room.ts";
import type { Page } from "./page.ts";
import { ServerCounts } from "./server-counts.ts";
import { createTallies } from "./tallies.ts";

/**
 * A snapshot of stored pages. No text is known of them: the next listing is read whole.
 *
 * @param room where the pages have their words
 */
export function restoreSnapshot(pages: readonly Page[], room = new PageRoom()): PackedSnapshot {
  const tally = createTallies();
  const counts = new ServerCounts();
  for (const page of pages) {
    for (let sandbox = 0; sandbox < page.sandboxCount; sandbox++) {
      tally.sandboxes[statusIn(page.sandboxFlags(sandbox))]++;
    }
    counts.add(page);
  }
  counts.addTo(tally);
  return createPackedSnapshot({
    pages,
    tally,
    room,
    nextPageId: pages.reduce((next, { id }) => Math.max(next, id + 1), 1),
    index: { table: null },
    body: null,
  });
}
