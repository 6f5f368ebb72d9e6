import { isInForce, silences } from "../alerts/silence.ts";
import type { Interventions, MaintenanceWindow, Silence, SilenceMatch } from "../alerts/silence.ts";
import type { Acknowledgement } from "../alerts/acknowledgement.ts";
import { parseCronTimes } from "../lib/cron-times.ts";
import type { Store } from "../store/store.ts";

/** One time that a maintenance window is open. UTC milliseconds; the end does not belong to it. */
interface Opening {
  readonly startsAtMs: number;
  readonly endsAtMs: number;
}

export interface TimedWindow extends MaintenanceWindow {
  /** The opening that a moment lies in; null: it is closed then. */
  openingAt(atMs: number): Opening | null;
  /** The first opening after a moment; null: there is none. */
  nextOpening(afterMs: number): Opening | null;
}

/** Computes when a window is open. The result for moments between the same two starts is kept. */
export function timeWindow(window: MaintenanceWindow): TimedWindow {
  const times = parseCronTimes(window.start, window.timeZone);
  if (!times) throw new TypeError(`the start of maintenance window ${window.name} is no cron time`);
  const openingFrom = (startsAtMs: number | null): Opening | null =>
    startsAtMs === null ? null : { startsAtMs, endsAtMs: startsAtMs + window.durationMs };
  let known = { fromMs: Infinity, untilMs: 0, opening: openingFrom(null) };
  return {
    ...window,
    openingAt(atMs) {
      if (atMs < known.fromMs || atMs >= known.untilMs) {
        const latestMs = times.latest(atMs);
        const untilMs = times.next(atMs) ?? Infinity;
        known = { fromMs: latestMs ?? atMs, untilMs, opening: openingFrom(latestMs) };
      }
      const { opening } = known;
      return opening && atMs < opening.endsAtMs ? opening : null;
    },
    nextOpening: (afterMs) => openingFrom(times.next(afterMs)),
  };
}

/** A silence, or a maintenance window that is open. */
interface InForce {
  readonly match: SilenceMatch;
  /** Who added it, or which window it is. */
  readonly by: string;
  readonly reason: string | null;
  readonly endsAtMs: number;
}

/** Silences, windows and acknowledgements in memory, as every poll needs them for each of its incidents. */
export interface HeldInterventions extends Interventions {
  readonly windows: readonly TimedWindow[];
  /** What suppresses notifications at a moment. */
  inForce(atMs: number): readonly InForce[];
  /** In force or to come. */
  openSilences(atMs: number): readonly Silence[];
  addSilence(silence: Silence, atMs: number): void;
  endSilence(id: string, atMs: number): void;
  acknowledge(acknowledgement: Acknowledgement): void;
  /** Forgets the acknowledgements of resolved incidents. */
  prune(): Promise<void>;
}

/** Reads what is in force from the store. */
export async function restoreInterventions(
  store: {
    readonly silences: Pick<Store["silences"], "open">;
    readonly acknowledgements: Pick<Store["acknowledgements"], "ofOpenIncidents">;
  },
  maintenance: readonly MaintenanceWindow[],
  nowMs: number,
): Promise<HeldInterventions> {
  const windows = maintenance.map(timeWindow);
  let known = await store.silences.open(nowMs);
  const acknowledged = await store.acknowledgements.ofOpenIncidents();
  const authors = new Map(acknowledged.map(({ incidentId, author }) => [incidentId, author]));
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
    inForce,
    silencedAt(atMs) {
      const matches = inForce(atMs).map(({ match }) => match);
      if (matches.length === 0) return null;
      return (facts) => matches.some((match) => silences(match, facts));
    },
    acknowledgedBy: (incidentId) => authors.get(incidentId) ?? null,
    openSilences: openAt,
    addSilence: (silence, atMs) => void (known = [...openAt(atMs), silence]),
    endSilence(id, atMs) {
      known = known.map((each) => (each.id === id ? { ...each, endsAtMs: atMs } : each));
      known = openAt(atMs);
    },
    acknowledge: ({ incidentId, author }) => void authors.set(incidentId, author),
    async prune() {
      // An acknowledgement that is made meanwhile may not be among those that are read.
      const before = [...authors.keys()];
      const open = await store.acknowledgements.ofOpenIncidents();
      const openIds = new Set(open.map(({ incidentId }) => incidentId));
      for (const id of before) if (!openIds.has(id)) authors.delete(id);
    },
  };
}
