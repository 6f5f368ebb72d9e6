import { isInForce } from "../alerts/silence.ts";
import type { Suppressions, MaintenanceWindow, Silence, SilenceMatch } from "../alerts/silence.ts";
import type { Acknowledgement } from "../alerts/acknowledgement.ts";
import { parseCronTimes } from "../lib/cron-times.ts";
import type { Store } from "../store/store.ts";

/** Computes when a window is open. The result for moments between the same two starts is kept. */
function timeWindow(window: MaintenanceWindow) {
  const times = parseCronTimes(window.start, window.timeZone);
  if (!times) throw new TypeError(`the start of maintenance window ${window.name} is no cron time`);
  /** The end does not belong to an opening. UTC milliseconds. */
  const openingFrom = (startsAtMs: number | null) =>
    startsAtMs === null ? null : { startsAtMs, endsAtMs: startsAtMs + window.durationMs };
  let known = { fromMs: Infinity, untilMs: 0, opening: openingFrom(null) };
  return {
    ...window,
    /** The opening that a moment lies in; null: it is closed then. */
    openingAt(atMs: number) {
      if (atMs < known.fromMs || atMs >= known.untilMs) {
        const latestMs = times.latest(atMs);
        const untilMs = times.next(atMs) ?? Infinity;
        known = { fromMs: latestMs ?? atMs, untilMs, opening: openingFrom(latestMs) };
      }
      const { opening } = known;
      return opening && atMs < opening.endsAtMs ? opening : null;
    },
    /** The first opening after a moment; null: there is none. */
    nextOpening: (afterMs: number) => openingFrom(times.next(afterMs)),
  };
}

export type TimedWindow = ReturnType<typeof timeWindow>;

/** A silence, or a maintenance window that is open. */
interface InForce {
  readonly match: SilenceMatch;
  /** Who added it, or which window it is. */
  readonly by: string;
  readonly reason: string | null;
  readonly endsAtMs: number;
}

export type HeldSuppressions = Awaited<ReturnType<typeof restoreSuppressions>>;

/**
 * Reads silences and acknowledgements from the store. They are kept in memory with the windows, as every poll needs
 * them for each of its incidents.
 */
export async function restoreSuppressions(
  store: {
    readonly silences: Pick<Store["silences"], "open">;
    readonly acknowledgements: Pick<Store["acknowledgements"], "ofOpenIncidents">;
  },
  maintenance: readonly MaintenanceWindow[],
  nowMs: number,
) {
  const windows = maintenance.map(timeWindow);
  let known = await store.silences.open(nowMs);
  const acknowledged = await store.acknowledgements.ofOpenIncidents();
  let authors: Suppressions["acknowledgedBy"] = new Map(
    acknowledged.map(({ incidentId, author }) => [incidentId, author]),
  );
  const openAt = (atMs: number) => known.filter(({ endsAtMs }) => endsAtMs > atMs);
  const inForce = (atMs: number): readonly InForce[] => [
    ...windows.flatMap((window) => {
      const { match, reason, name } = window;
      const opening = window.openingAt(atMs);
      return opening ? [{ match, by: `maintenance window ${name}`, reason, ...opening }] : [];
    }),
    ...known
      .filter((silence) => isInForce(silence, atMs))
      .map(({ author: by, ...silence }) => ({ by, ...silence })),
  ];
  return {
    windows,
    /** What suppresses notifications at a moment, as a value: what people do later does not change it. */
    at: (atMs: number): Suppressions => ({
      silenced: inForce(atMs).map(({ match }) => match),
      acknowledgedBy: authors,
      regionsDown: new Map(),
    }),
    /** What silences at a moment, and why. */
    inForce,
    /** In force or to come. */
    openSilences: openAt,
    addSilence: (silence: Silence, atMs: number): void => void (known = [...openAt(atMs), silence]),
    endSilence(id: string, atMs: number): void {
      known = known.map((each) => (each.id === id ? { ...each, endsAtMs: atMs } : each));
      known = openAt(atMs);
    },
    acknowledge(...given: readonly Acknowledgement[]): void {
      const added = given.map(({ incidentId, author }) => [incidentId, author] as const);
      authors = new Map([...authors, ...added]);
    },
    /** Forgets the acknowledgements of resolved incidents. */
    async prune(): Promise<void> {
      // An acknowledgement that is made meanwhile may not be among those that are read.
      const before = authors;
      const open = await store.acknowledgements.ofOpenIncidents();
      const openIds = new Set(open.map(({ incidentId }) => incidentId));
      authors = new Map([...authors].filter(([id]) => openIds.has(id) || !before.has(id)));
    },
  };
}
