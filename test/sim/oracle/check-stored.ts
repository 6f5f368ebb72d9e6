import type { History } from "../history.ts";
import { isStoredFor } from "./seen.ts";
import type { Seen } from "./seen.ts";
import { violation } from "./violation.ts";
import type { Violation } from "./violation.ts";

/** That each listing is stored that nothing kept from it: after a failure the store is tried again at the next poll. */
export function checkStored(
  history: History,
  target: string,
  seen: readonly Seen[],
): readonly Violation[] {
  const lost = seen.filter(({ sighting, certain }) => {
    const { lastPollMs = null } = history.lives[sighting.life - 1] ?? {};
    const isStopped = lastPollMs !== null && lastPollMs <= sighting.atMs;
    return certain && !isStopped && !isStoredFor(history, sighting);
  });
  return lost.slice(0, 1).map(({ fromMs }) => {
    const text = `the listing of ${target} at ${fromMs} ms was not stored, though nothing kept it from being stored`;
    return violation(text, target);
  });
}
