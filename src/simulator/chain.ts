import { episodes } from "./episodes.ts";
import type { EpisodeKind } from "./episodes.ts";
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
  /** UTC milliseconds of the last change of status, or of birth. Found when it is asked for. */
  readonly sinceMs: number;
}

const stepMs = 10_000;
const renewalChance = 1 / 12;
const errorShare = 0.012;

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

const purpose = { phase: 1, renewal: 2, status: 3 };

export function chainStateAt(subject: ChainSubject, utcMs: number, tempo: Tempo): ChainState {
  const { seed, bornMs } = subject;
  const phaseMs = Math.floor(draw(seed, purpose.phase) * stepMs);
  const startOf = (step: number): number => Math.max(bornMs, step * stepMs + phaseMs);
  const stepAt = (worldMs: number): number => Math.floor((worldMs - phaseMs) / stepMs);
  const renewals = mix(seed, purpose.renewal);
  const bornStep = stepAt(bornMs);
  const hitsSandbox = episodes(sandboxEpisodes, subject.sandboxSeed, seed);
  const hitsName = episodes(nameEpisodes, subject.nameSeed, seed);

  /** The step of the last fresh draw, and what was drawn there. */
  const lastDraw = (step: number): { readonly first: number; readonly drawn: ChainStatus } => {
    let first = step;
    while (first > bornStep && draw(renewals, first) >= renewalChance) first--;
    return { first, drawn: drawStatus(subject, first, tempo.utcMs(startOf(first))) };
  };
  const statusAt = (step: number, drawn: ChainStatus): ChainStatus => {
    const atMs = startOf(step);
    return hitsSandbox(atMs) || hitsName(atMs) ? "error" : drawn;
  };

  const now = stepAt(tempo.worldMs(utcMs));
  const latest = lastDraw(now);
  const status = statusAt(now, latest.drawn);
  const findSince = (): number => {
    let { first, drawn } = latest;
    for (let step = now; ; step--) {
      if (step < first) ({ first, drawn } = lastDraw(step));
      if (statusAt(step, drawn) !== status) return tempo.utcMs(startOf(step + 1));
      if (step <= bornStep) return tempo.utcMs(bornMs);
    }
  };
  let sinceMs: number | null = null;
  return {
    status,
    get sinceMs() {
      return (sinceMs ??= findSince());
    },
  };
}

function drawStatus(subject: ChainSubject, step: number, utcMs: number): ChainStatus {
  const drawn = draw(mix(subject.seed, purpose.status), step);
  if (drawn < errorShare) return "error";
  const occupied = occupiedShare(utcMs, subject.offsetHours);
  return drawn < errorShare + occupied * (1 - errorShare) ? "occupied" : "idle";
}
