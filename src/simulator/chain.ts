import { draw, mix } from "./hash.ts";
import { occupiedShare } from "./region-time.ts";
import type { Tempo } from "./tempo.ts";

/**
 * How a server's status moves, answerable at any moment without the history before it.
 *
 * Time is cut into steps. At each step, with a small chance, the chain forgets: it draws its status
 * afresh from the shares of that hour; at all others it stays. Such a chain has exactly those shares
 * in the long run, and the status at a moment depends on the last fresh draw alone, which is found
 * by walking back a dozen steps on average.
 *
 * Over it lie episodes of error, of a whole sandbox or of the servers of one name.
 */
export type ChainStatus = "idle" | "occupied" | "error";

export interface ChainSubject {
  readonly seed: number;
  /** Shared by all servers of the sandbox. */
  readonly sandboxSeed: number;
  /** Shared by all servers of the same name in the region. */
  readonly nameSeed: number;
  /** In the world's own time. */
  readonly bornMs: number;
  readonly offsetHours: number;
}

export interface ChainState {
  readonly status: ChainStatus;
  /** UTC milliseconds of the last change of status, or of birth. */
  readonly sinceMs: number;
}

const stepMs = 10_000;
const renewalChance = 1 / 12;
const errorShare = 0.012;

interface EpisodeKind {
  readonly slotMs: number;
  readonly chance: number;
  readonly longestMs: number;
  /** The share of the servers concerned that an episode strikes. */
  readonly struck: number;
}

const sandboxEpisodes: EpisodeKind = {
  slotMs: 2 * 3_600_000,
  chance: 0.02,
  longestMs: 10 * 60_000,
  struck: 1,
};
const nameEpisodes: EpisodeKind = {
  slotMs: 6 * 3_600_000,
  chance: 0.03,
  longestMs: 15 * 60_000,
  struck: 0.7,
};

const purpose = { phase: 1, renewal: 2, status: 3, episodeStart: 4, episodeLength: 5, struck: 6 };

export function chainStateAt(subject: ChainSubject, utcMs: number, tempo: Tempo): ChainState {
  const { seed, bornMs } = subject;
  const phaseMs = Math.floor(draw(seed, purpose.phase) * stepMs);
  const startOf = (step: number): number => Math.max(bornMs, step * stepMs + phaseMs);
  const stepAt = (worldMs: number): number => Math.floor((worldMs - phaseMs) / stepMs);
  const renewals = mix(seed, purpose.renewal);
  const bornStep = stepAt(bornMs);
  const hitsSandbox = episodes(sandboxEpisodes, subject.sandboxSeed, seed);
  const hitsName = episodes(nameEpisodes, subject.nameSeed, seed);

  let status: ChainStatus | undefined;
  let last = stepAt(tempo.worldMs(utcMs));
  for (;;) {
    let first = last;
    while (first > bornStep && draw(renewals, first) >= renewalChance) first--;
    const drawn = drawStatus(subject, first, tempo.utcMs(startOf(first)));
    for (let step = last; step >= first; step--) {
      const atMs = startOf(step);
      const seen = hitsSandbox(atMs) || hitsName(atMs) ? "error" : drawn;
      status ??= seen;
      if (seen !== status) return { status, sinceMs: tempo.utcMs(startOf(step + 1)) };
    }
    if (first <= bornStep) return { status: status ?? drawn, sinceMs: tempo.utcMs(bornMs) };
    last = first - 1;
  }
}

function drawStatus(subject: ChainSubject, step: number, utcMs: number): ChainStatus {
  const drawn = draw(mix(subject.seed, purpose.status), step);
  if (drawn < errorShare) return "error";
  const occupied = occupiedShare(utcMs, subject.offsetHours);
  return drawn < errorShare + occupied * (1 - errorShare) ? "occupied" : "idle";
}

/** Tells whether one strikes at a moment of the world's own time. In each slot there is one or none. */
function episodes(kind: EpisodeKind, seed: number, ownSeed: number): (worldMs: number) => boolean {
  let known = Number.NaN;
  let startMs = 0;
  let endMs = 0;
  return (worldMs) => {
    const slot = Math.floor(worldMs / kind.slotMs);
    if (slot !== known) {
      known = slot;
      const strikes =
        draw(seed, slot) < kind.chance && draw(mix(ownSeed, slot), purpose.struck) < kind.struck;
      const slotSeed = mix(seed, slot);
      const intoMs = draw(slotSeed, purpose.episodeStart) * (kind.slotMs - kind.longestMs);
      const share = 0.2 + 0.8 * draw(slotSeed, purpose.episodeLength);
      startMs = slot * kind.slotMs + intoMs;
      endMs = strikes ? startMs + share * kind.longestMs : startMs;
    }
    return worldMs >= startMs && worldMs < endMs;
  };
}
