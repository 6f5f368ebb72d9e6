import type { Acknowledgement } from "../alerts/acknowledgement.ts";
import type { Interventions } from "../alerts/silence.ts";
import type { MaintenanceWindow } from "../alerts/silence.ts";
import { isInForce, silences } from "../alerts/silence.ts";
import type { Silence, SilenceMatch } from "../alerts/silence.ts";
import { timeWindow } from "./windows.ts";
import type { TimedWindow } from "./windows.ts";

/** What restoring needs of the store. */
export interface InterventionStore {
  readonly silences: { open(nowMs: number): Promise<readonly Silence[]> };
  readonly acknowledgements: { ofOpenIncidents(): Promise<readonly Acknowledgement[]> };
}

/** A silence, or a maintenance window that is open. */
export interface InForce {
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
  store: InterventionStore,
  windows: readonly MaintenanceWindow[],
  nowMs: number,
): Promise<HeldInterventions> {
  const timed = windows.map(timeWindow);
  let known = await store.silences.open(nowMs);
  const acknowledged = await store.acknowledgements.ofOpenIncidents();
  const authors = new Map(acknowledged.map(({ incidentId, author }) => [incidentId, author]));
  const inForce = (atMs: number): readonly InForce[] => [
    ...timed.flatMap((window): InForce[] => {
      const { match, reason, name } = window;
      const opening = window.openingAt(atMs);
      return opening
        ? [{ match, by: `maintenance window ${name}`, reason, endsAtMs: opening.endsAtMs }]
        : [];
    }),
    ...known
      .filter((silence) => isInForce(silence, atMs))
      .map(({ match, author, reason, endsAtMs }) => ({ match, by: author, reason, endsAtMs })),
  ];
  return {
    windows: timed,
    silencedAt(atMs) {
      const matches = inForce(atMs).map(({ match }) => match);
      return matches.length === 0
        ? null
        : (facts) => matches.some((match) => silences(match, facts));
    },
    acknowledgedBy: (incidentId) => authors.get(incidentId) ?? null,
    inForce,
    openSilences: (atMs) => known.filter(({ endsAtMs }) => endsAtMs > atMs),
    addSilence(silence, atMs) {
      known = [...known.filter(({ endsAtMs }) => endsAtMs > atMs), silence];
    },
    endSilence(id, atMs) {
      known = known
        .map((each) => (each.id === id ? { ...each, endsAtMs: atMs } : each))
        .filter(({ endsAtMs }) => endsAtMs > atMs);
    },
    acknowledge({ incidentId, author }) {
      authors.set(incidentId, author);
    },
    async prune() {
      // An acknowledgement that is made meanwhile may not be among those that are read.
      const before = [...authors.keys()];
      const open = await store.acknowledgements.ofOpenIncidents();
      const openIds = new Set(open.map(({ incidentId }) => incidentId));
      for (const id of before) if (!openIds.has(id)) authors.delete(id);
    },
  };
}
