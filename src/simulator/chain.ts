import { draw, mix } from "./hash.ts";
import { occupiedShare } from "./region-time.ts";

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

/** @param pace how many times faster than usual statuses move; the rhythm of the day stays */
export function chainStateAt(subject: ChainSubject, utcMs: number, pace: number): ChainState {
  const pacedStepMs = Math.max(1, Math.round(stepMs / pace));
  const phaseMs = Math.floor(draw(subject.seed, purpose.phase) * pacedStepMs);
  const startOf = (step: number): number => Math.max(subject.bornMs, step * pacedStepMs + phaseMs);
  const stepAt = (ms: number): number => Math.floor((ms - phaseMs) / pacedStepMs);
  const renewals = mix(subject.seed, purpose.renewal);
  const bornStep = stepAt(subject.bornMs);

  let status: ChainStatus | undefined;
  let last = stepAt(utcMs);
  for (;;) {
    let first = last;
    while (first > bornStep && draw(renewals, first) >= renewalChance) first--;
    const drawn = drawStatus(subject, first, startOf(first));
    for (let step = last; step >= first; step--) {
      const seen = inAnyEpisode(subject, startOf(step), pace) ? "error" : drawn;
      status ??= seen;
      if (seen !== status) return { status, sinceMs: startOf(step + 1) };
    }
    if (first <= bornStep) return { status: status ?? drawn, sinceMs: subject.bornMs };
    last = first - 1;
  }
}

function drawStatus(subject: ChainSubject, step: number, utcMs: number): ChainStatus {
  const drawn = draw(mix(subject.seed, purpose.status), step);
  if (drawn < errorShare) return "error";
  const occupied = occupiedShare(utcMs, subject.offsetHours);
  return drawn < errorShare + occupied * (1 - errorShare) ? "occupied" : "idle";
}

function inAnyEpisode(subject: ChainSubject, utcMs: number, pace: number): boolean {
  return (
    inEpisode(sandboxEpisodes, subject.sandboxSeed, subject.seed, utcMs * pace) ||
    inEpisode(nameEpisodes, subject.nameSeed, subject.seed, utcMs * pace)
  );
}

function inEpisode(kind: EpisodeKind, seed: number, ownSeed: number, pacedMs: number): boolean {
  const slot = Math.floor(pacedMs / kind.slotMs);
  if (draw(seed, slot) >= kind.chance) return false;
  const slotSeed = mix(seed, slot);
  const startMs = draw(slotSeed, purpose.episodeStart) * (kind.slotMs - kind.longestMs);
  const lengthMs = (0.2 + 0.8 * draw(slotSeed, purpose.episodeLength)) * kind.longestMs;
  const intoMs = pacedMs - slot * kind.slotMs - startMs;
  const strikes = draw(mix(ownSeed, slot), purpose.struck) < kind.struck;
  return intoMs >= 0 && intoMs < lengthMs && strikes;
}
