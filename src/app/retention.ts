import { resolutions } from "../fleet/buckets.ts";
import type { Resolution } from "../fleet/buckets.ts";
import type { Clock } from "../lib/clock.ts";
import type { Chore } from "./upkeep.ts";

/** For how long the history is kept. Milliseconds; null: for ever. */
export interface Retention {
  readonly changes: number | null;
  readonly buckets: Readonly<Record<Resolution, number | null>>;
}

/** Removes a little, and gives whether there may be more. Times are UTC milliseconds. */
type Prune = (beforeMs: number) => Promise<boolean>;

/** What retention needs of the store. */
export interface PrunedStore {
  readonly prune: {
    readonly notifications: (bounds: {
      readonly deliveredBeforeMs: number;
      readonly deadBeforeMs: number;
    }) => Promise<boolean>;
    readonly owedItems: (beforeMs: number, configured: readonly string[]) => Promise<boolean>;
    readonly changes: Prune;
    readonly gaps: Prune;
    readonly incidents: Prune;
    readonly silences: Prune;
    readonly buckets: (resolution: Resolution, beforeMs: number) => Promise<boolean>;
  };
}

const dayMs = 24 * 60 * 60 * 1_000;

/** For as long people can look up what was sent. */
const keepDeliveredMs = 30 * dayMs;

/** For as long what was given up waits for somebody to replay or to discard it. */
const keepDeadMs = 90 * dayMs;

/** How long the end of an incident waits for a receiver that is not configured. */
const keepOwedItemsMs = 90 * dayMs;

/** How long a silence that has ended is kept, to explain why nothing was notified. */
const keepSilencesMs = 30 * dayMs;

/**
 * Throws away what was kept for long enough.
 *
 * @param receivers the configured ones
 */
export function retentionChores(
  { prune }: PrunedStore,
  keep: Retention,
  clock: Pick<Clock, "now">,
  receivers: readonly string[],
): readonly Chore[] {
  const nowMs = (): number => clock.now().utcMs;
  const kept = (what: string, forMs: number | null, step: Prune): readonly Chore[] =>
    forMs === null ? [] : [{ what, step: () => step(nowMs() - forMs) }];

  return [
    {
      what: "deleting old notifications",
      step: () =>
        prune.notifications({
          deliveredBeforeMs: nowMs() - keepDeliveredMs,
          deadBeforeMs: nowMs() - keepDeadMs,
        }),
    },
    ...kept("deleting notifications for removed receivers", keepOwedItemsMs, (beforeMs) =>
      prune.owedItems(beforeMs, receivers),
    ),
    ...kept("deleting old changes", keep.changes, prune.changes),
    // Without the changes nobody asks for the gaps between them: buckets have their own.
    ...kept("deleting old gaps", keep.changes, prune.gaps),
    ...kept("deleting old incidents", keep.changes, prune.incidents),
    ...kept("deleting old silences", keepSilencesMs, prune.silences),
    ...resolutions.flatMap((resolution) =>
      kept(`deleting old buckets of ${resolution}`, keep.buckets[resolution], (beforeMs) =>
        prune.buckets(resolution, beforeMs),
      ),
    ),
  ];
}
