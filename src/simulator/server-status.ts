import { draw, identityOf, mix } from "./hash.ts";

const hourMs = 3_600_000;

/**
 * How fast the world's own time passes: statuses move and sandboxes are replaced by it, while the
 * rhythm of day and week stays that of the calendar. Never backwards.
 */
export interface Tempo {
  /** The world's own time at a moment. UTC milliseconds in, milliseconds out. */
  worldMs(utcMs: number): number;
  /** The first whole millisecond at which the world's own time has come so far. */
  utcMs(worldMs: number): number;
}

/**
 * Goes on from one pace to another at a moment, without a break: nothing jumps.
 *
 * @param before how many times faster than usual; more than 0
 */
export function tempoOf(before: number, atMs = 0, after = before): Tempo {
  const turnMs = atMs * before;
  return {
    worldMs: (utcMs) => turnMs + (utcMs - atMs) * (utcMs <= atMs ? before : after),
    utcMs: (worldMs) => atMs + Math.ceil((worldMs - turnMs) / (worldMs <= turnMs ? before : after)),
  };
}

/** The two deployments of the service; a region of another name gets an offset by hash. */
const knownOffsetHours: Readonly<Record<string, number>> = { us: -8, eu: 1 };

/** Hours that a region's local time is ahead of UTC. Whole, fixed: no summer time. */
export function offsetHoursOf(region: string): number {
  return knownOffsetHours[region] ?? (identityOf("offset", region)[0] % 23) - 11;
}

const occupiedByNight = 0.22;
const occupiedAtNoon = 0.6;
const weekendFactor = 0.6;

/** From Monday 00:00 on; working hours rise and fall between 7 and 20 o'clock. */
const occupiedByHourOfWeek: readonly number[] = Array.from({ length: 168 }, (_, hourOfWeek) => {
  const working = Math.max(0, Math.sin((Math.PI * ((hourOfWeek % 24) - 6.5)) / 13));
  const share = occupiedByNight + (occupiedAtNoon - occupiedByNight) * working;
  return hourOfWeek >= 5 * 24 ? share * weekendFactor : share;
});

/** The share of servers that clients hold, in the long run, at this local time of the week. */
function occupiedShare(utcMs: number, offsetHours: number): number {
  const thursdayToMonday = 3 * 24;
  const hours = Math.floor(utcMs / hourMs) + offsetHours + thursdayToMonday;
  return occupiedByHourOfWeek[((hours % 168) + 168) % 168] ?? occupiedByNight;
}

/** Something that comes over some for a while, again and again. Time is cut into slots. */
export interface EpisodeKind {
  readonly slotMs: number;
  /** That there is one in a slot; never two. */
  readonly chance: number;
  /** The shortest is a fifth of it. */
  readonly longestMs: number;
  /** The share of those concerned that an episode strikes. */
  readonly struck: number;
}

const episodePurpose = { start: 4, length: 5, struck: 6 };

/**
 * The episode in the slot of a moment; null: none strikes.
 *
 * @param seed shared by all that an episode concerns
 * @param ownSeed of the one that is asked about
 */
export function episodeAt(kind: EpisodeKind, seed: number, ownSeed: number, atMs: number) {
  const slot = Math.floor(atMs / kind.slotMs);
  if (draw(seed, slot) >= kind.chance) return null;
  if (draw(mix(ownSeed, slot), episodePurpose.struck) >= kind.struck) return null;
  const slotSeed = mix(seed, slot);
  const intoMs = draw(slotSeed, episodePurpose.start) * (kind.slotMs - kind.longestMs);
  const share = 0.2 + 0.8 * draw(slotSeed, episodePurpose.length);
  const startMs = slot * kind.slotMs + intoMs;
  const endMs = startMs + share * kind.longestMs;
  return { startMs, endMs, isOn: atMs >= startMs && atMs < endMs };
}

export interface StatusSubject {
  readonly seed: number;
  /** Shared by all servers of the sandbox. */
  readonly sandboxSeed: number;
  /** Shared by all servers of the same name in the region. */
  readonly nameSeed: number;
  /** In the world's own time. */
  readonly bornMs: number;
  readonly offsetHours: number;
  readonly load: Load;
}

/** By how much the occupied share differs from the usual one at a moment. UTC milliseconds. */
export type Load = (utcMs: number) => number;

const weekMs = 7 * 24 * hourMs;
const mostOccupied = 0.97;

/** Grows evenly, by part of the usual load in a week, and is so high at a moment; half the usual one is the least. */
export function growingLoad(atMs: number, load: number, perWeek: number): Load {
  return (utcMs) => Math.max(0.5, load + ((utcMs - atMs) / weekMs) * perWeek);
}

const stepMs = 10_000;
const renewalChance = 1 / 12;
const errorShare = 0.012;

const sandboxErrors: EpisodeKind = {
  slotMs: 2 * hourMs,
  chance: 0.02,
  longestMs: 10 * 60_000,
  struck: 1,
};
const nameErrors: EpisodeKind = {
  slotMs: 6 * hourMs,
  chance: 0.03,
  longestMs: 15 * 60_000,
  struck: 0.7,
};

const purpose = { phase: 1, renewal: 2, status: 3 };

/**
 * A server's status, answerable at any moment without the history before it, and when it was last
 * drawn or an episode began or ended. UTC milliseconds.
 *
 * Time is cut into steps. At each step, with a small chance, the status is drawn from the shares of
 * that hour; at all others it remains. So it has exactly those shares in the long run, and depends on
 * the last draw alone, which is found by walking back a dozen steps on average. Over it lie episodes
 * of error, of a whole sandbox or of the servers of one name.
 */
export function statusAt(subject: StatusSubject, utcMs: number, tempo: Tempo) {
  const { seed, sandboxSeed, nameSeed, bornMs } = subject;
  const phaseMs = Math.floor(draw(seed, purpose.phase) * stepMs);
  const startOf = (step: number): number => Math.max(bornMs, step * stepMs + phaseMs);
  const stepAt = (worldMs: number): number => Math.floor((worldMs - phaseMs) / stepMs);
  const renewals = mix(seed, purpose.renewal);
  const bornStep = stepAt(bornMs);
  const step = stepAt(tempo.worldMs(utcMs));
  let drawnStep = step;
  while (drawnStep > bornStep && draw(renewals, drawnStep) >= renewalChance) drawnStep--;

  const atMs = startOf(step);
  let updatedMs = startOf(drawnStep);
  let isStruck = false;
  for (const episode of [
    episodeAt(sandboxErrors, sandboxSeed, seed, atMs),
    episodeAt(nameErrors, nameSeed, seed, atMs),
  ]) {
    if (!episode) continue;
    isStruck ||= episode.isOn;
    if (episode.startMs <= atMs) updatedMs = Math.max(updatedMs, episode.startMs);
    if (episode.endMs <= atMs) updatedMs = Math.max(updatedMs, episode.endMs);
  }
  return {
    status: isStruck ? "error" : drawStatus(subject, drawnStep, tempo.utcMs(startOf(drawnStep))),
    updatedAtMs: tempo.utcMs(updatedMs),
  };
}

function drawStatus({ seed, offsetHours, load }: StatusSubject, step: number, utcMs: number) {
  const drawn = draw(mix(seed, purpose.status), step);
  if (drawn < errorShare) return "error";
  const occupied = Math.min(mostOccupied, occupiedShare(utcMs, offsetHours) * load(utcMs));
  return drawn < errorShare + occupied * (1 - errorShare) ? "occupied" : "idle";
}
