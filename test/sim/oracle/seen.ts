import type { History, Life, Sighting } from "../history.ts";

/** A sighting of a target, with what can be said for certain of how it counts. */
export interface Seen {
  readonly sighting: Sighting;
  /** False: the process died or its store failed before it was surely stored: it may be lost. */
  readonly certain: boolean;
  /** The process may have been held up meanwhile: it was then or some time before. */
  readonly fromMs: number;
  readonly toMs: number;
  /** Of the time since the sighting before, what is watched at least and at most. */
  readonly leastMs: number;
  readonly mostMs: number;
}

/** What was seen of a target, in order. */
export function seenOf(history: History, target: string, intervalMs: number): readonly Seen[] {
  const sightings = history.sightings.filter((each) => each.target === target);
  const answered = new Set(sightings.map(({ request }) => request));
  const failed = history.requests.flatMap(({ target: asked, path }, index) =>
    asked === target && path === "/local-sandbox" && !answered.has(index) ? [index] : [],
  );
  const seen: Seen[] = [];
  let lostIn: number | null = null;
  for (const sighting of sightings) {
    if (isLost(history, sighting)) {
      lostIn = sighting.life;
      continue;
    }
    const before = seen.at(-1);
    const isFirst = sighting.life !== before?.sighting.life || sighting.life === lostIn;
    lostIn = null;
    const toMs = sighting.atMs + (history.stalls.get(sighting.moment) ?? 0);
    const known = { sighting, certain: isCertain(history, sighting), fromMs: sighting.atMs, toMs };
    if (!before || isFirst) {
      seen.push({ ...known, leastMs: 0, mostMs: 0 });
      continue;
    }
    const { request } = before.sighting;
    if (keptBetween(history, before.sighting, sighting) > 1) {
      // A poll that sent nothing was kept between them, so the time is unobserved.
      seen.push({ ...known, leastMs: 0, mostMs: 0 });
      continue;
    }
    const inSight = !failed.some((index) => index > request && index < sighting.request);
    const sure = inSight && known.certain && before.certain;
    const mostMs = toMs - before.fromMs;
    seen.push({
      ...known,
      leastMs: sure ? Math.max(0, known.fromMs - before.toMs) : 0,
      // In so long a time there was a poll that failed, and what is around it was not watched.
      mostMs: mostMs > 2.5 * intervalMs + 60_000 ? 0 : mostMs,
    });
  }
  return seen;
}

/** How many polls were kept from one sighting on until another: that of the first is one of them. */
function keptBetween({ keptPolls }: History, from: Sighting, to: Sighting): number {
  return keptPolls.filter(
    ({ target, moment }) => target === from.target && moment >= from.moment && moment < to.moment,
  ).length;
}

/** How long what a listing changed nothing about may wait until it is stored together with others. */
const gatherMs = 100;

/** Whether a moment is one in which a sighting may have been stored. */
function mayStore({ dueMs, stalls }: History, { moment, atMs }: Sighting, other: number): boolean {
  const latestMs = atMs + (stalls.get(moment) ?? 0) + gatherMs;
  return other >= moment && (dueMs[other] ?? Infinity) <= latestMs;
}

/** It certainly came to nothing: what passed until the next one was not watched either. */
function isLost(history: History, sighting: Sighting): boolean {
  return (
    !isCertain(history, sighting) &&
    !Array.from(history.commits).some((moment) => mayStore(history, sighting, moment))
  );
}

function isCertain(history: History, sighting: Sighting): boolean {
  const { endMoment = null } = history.lives[sighting.life - 1] ?? {};
  if (endMoment !== null && mayStore(history, sighting, endMoment)) return false;
  return !Array.from(history.storeFaults).some(
    ([moment, hit]) => hit === sighting.life && mayStore(history, sighting, moment),
  );
}

/** Whether a timestamp of the product's can be of the moment of a sighting. */
export function isAt({ sighting, fromMs, toMs }: Seen, utcMs: number): boolean {
  return utcMs >= sighting.utcMs && utcMs <= sighting.utcMs + (toMs - fromMs);
}

/** When a process polled, as far as that lies between two times. */
export function polledWithin(
  { watchMs, lastPollMs }: Life,
  fromMs: number,
  toMs: number,
): { readonly fromMs: number; readonly toMs: number } | null {
  if (watchMs === null) return null;
  const from = Math.max(fromMs, watchMs);
  const to = Math.min(toMs, lastPollMs ?? toMs);
  return to >= from ? { fromMs: from, toMs: to } : null;
}

/** Whether a poll of its target was stored when a sighting can have been. */
export function isStoredFor(history: History, sighting: Sighting): boolean {
  return history.keptPolls.some(
    ({ target, life, moment }) =>
      target === sighting.target && life === sighting.life && mayStore(history, sighting, moment),
  );
}
