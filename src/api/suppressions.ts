import { acknowledgementAt, type Acknowledgement } from "../alerts/acknowledgement.ts";
import { isInForce } from "../alerts/silence.ts";
import type {
  MaintenanceWindow,
  RegionDown,
  RegionsDown,
  Silencing,
  Suppressions,
} from "../alerts/silence.ts";
import type { Clock } from "../lib/clock.ts";
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
interface InForce extends Silencing {
  /** Of the silence; null: it is a window. */
  readonly id: string | null;
  readonly reason: string | null;
}

/** The acknowledgements in force at a moment, and when the first of them ends. */
function acknowledgedAt(all: readonly Acknowledgement[], atMs: number) {
  const acknowledgements = all.filter((each) => acknowledgementAt(each, atMs));
  return {
    acknowledgements,
    acknowledgedBy: new Map(acknowledgements.map((each) => [each.incidentId, each.author])),
    untilMs: Math.min(...acknowledgements.map(({ endsAtMs }) => endsAtMs ?? Infinity)),
  };
}

export type HeldSuppressions = Awaited<ReturnType<typeof restoreSuppressions>>;

/**
 * Reads silences and acknowledgements from the store. They are kept in memory with the windows, as every poll needs
 * them for each of its incidents.
 */
export async function restoreSuppressions(
  store: { readonly suppressions: Store["suppressions"] },
  maintenance: readonly MaintenanceWindow[],
  clock: Pick<Clock, "now">,
) {
  const windows = maintenance.map(timeWindow);
  const read = async () => {
    const nowMs = clock.now().utcMs;
    const { silences, acknowledgements } = await store.suppressions.read(nowMs);
    return { silences, ...acknowledgedAt(acknowledgements, nowMs) };
  };
  let regionsDown: RegionsDown = new Map();
  let known = await read();
  let reading = Promise.resolve();
  let next: Promise<void> | null = null;
  const readAfter = async (before: Promise<void>): Promise<void> => {
    await before.catch(() => {});
    next = null;
    known = await read();
  };
  const openAt = (atMs: number) => known.silences.filter(({ endsAtMs }) => endsAtMs > atMs);
  const inForce = (atMs: number): readonly InForce[] => [
    ...windows.flatMap((window) => {
      const { match, reason, name } = window;
      const opening = window.openingAt(atMs);
      return opening
        ? [{ id: null, match, by: `maintenance window ${name}`, reason, ...opening }]
        : [];
    }),
    ...known.silences
      .filter((silence) => isInForce(silence, atMs))
      .map(({ author: by, ...silence }) => ({ by, ...silence })),
  ];
  return {
    windows,
    /** What suppresses notifications at a moment, as a value: what people do later does not change it. */
    at: (atMs: number): Suppressions => {
      if (atMs >= known.untilMs)
        known = { ...known, ...acknowledgedAt(known.acknowledgements, atMs) };
      return { silenced: inForce(atMs), acknowledgedBy: known.acknowledgedBy, regionsDown };
    },
    /** As it was last committed. */
    setRegionDown(region: string, down: readonly RegionDown[]): void {
      regionsDown = new Map([...regionsDown, [region, down]]);
    },
    /** What silences at a moment, and why. */
    inForce,
    /** In force or to come. */
    openSilences: openAt,
    /** Reads what is stored at the time of the call or later. */
    reload: (): Promise<void> => (next ??= reading = readAfter(reading)),
  };
}
