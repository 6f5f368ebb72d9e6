import type { Note } from "./replica.ts";
import {
  intervalMs,
  leaseMs,
  requestsPerSecond,
  settlingMs,
  targetNameOf,
  type Call,
} from "./world.ts";

export interface CallsChecked {
  readonly problems: readonly string[];
  /** From the last call by a process that was killed to the first one by another. */
  readonly takeOversMs: readonly number[];
  /** The same for processes that handed over. */
  readonly handOversMs: readonly number[];
}

const nameOf = (incarnation: string): string => incarnation.split(".", 1)[0] ?? "";
const timeOf = (ms: number): string => new Date(ms).toISOString();

/** Compares who called with what was done to whom. */
export function checkCalls(calls: readonly Call[], notes: readonly Note[]): CallsChecked {
  const sorted = calls.toSorted((one, other) => one.startMs - other.startMs);
  const byTarget = Map.groupBy(sorted, targetNameOf);
  return {
    problems: [
      ...Array.from(byTarget).flatMap(([target, own]) => findStrays(target, own)),
      ...findExcess(sorted),
      ...findOlder(sorted, notes),
    ],
    takeOversMs: gapsAfter("killed", byTarget, notes),
    handOversMs: gapsAfter("stopping", byTarget, notes),
  };
}

/**
 * A call between two calls of another process, which did not stop polling meanwhile: by one that does not own the target
 * any more. One call is past its check of the lease; a second one within a lease is not.
 */
function findStrays(target: string, calls: readonly Call[]): readonly string[] {
  const strays = new Map<string, number>();
  const problems: string[] = [];
  for (const [index, call] of calls.entries()) {
    const before = calls[index - 1];
    const after = calls[index + 1];
    if (!before || !after || before.incarnation !== after.incarnation) continue;
    if (call.incarnation === before.incarnation) continue;
    if (after.startMs - before.startMs > 1.5 * intervalMs) continue;
    const last = strays.get(call.incarnation);
    strays.set(call.incarnation, call.startMs);
    if (last === undefined || call.startMs - last > leaseMs) continue;
    problems.push(
      `two replicas called ${target}: ${call.incarnation} and ${after.incarnation} at ${timeOf(call.startMs)}`,
    );
  }
  return problems;
}

/** How much the way to the service may move two calls together. */
const jitter = 0.1;

/** Calls of a key beyond its limit. One more is allowed: it may have been past its check when its process lost the key. */
function findExcess(calls: readonly Call[]): readonly string[] {
  const problems: string[] = [];
  for (const [key, own] of Map.groupBy(calls, (call) => call.key)) {
    let tokens = requestsPerSecond + 1 + jitter;
    let atMs = 0;
    for (const { startMs, incarnation } of own) {
      const gained = ((startMs - atMs) / 1_000) * requestsPerSecond;
      tokens = Math.min(requestsPerSecond + 1 + jitter, tokens + gained);
      atMs = startMs;
      tokens -= 1;
      if (tokens >= 0) continue;
      problems.push(`${key} was above its limit: ${incarnation} at ${timeOf(startMs)}`);
      tokens = requestsPerSecond;
    }
  }
  return problems;
}

interface Life {
  readonly incarnation: string;
  readonly generation: number;
  readonly startedMs: number;
  readonly endedMs: number;
}

function createHistory(notes: readonly Note[]) {
  const byIncarnation = Map.groupBy(notes, (note) => note.incarnation);
  const lives: readonly Life[] = Array.from(byIncarnation, ([incarnation, own]) => ({
    incarnation,
    generation: own[0]?.generation ?? 0,
    startedMs: own.find(({ what }) => what === "started")?.atMs ?? Infinity,
    endedMs: own.find(({ what }) => /killed|stop/.test(what))?.atMs ?? Infinity,
  }));
  const harms = Array.from(Map.groupBy(notes, (note) => nameOf(note.incarnation))).flatMap(
    ([name, own]) =>
      own.flatMap(({ what, atMs }, index) => {
        if (what !== "harmed") return [];
        const healed = own.slice(index).find((note) => note.what === "healed");
        return { name, fromMs: atMs, untilMs: (healed?.atMs ?? Infinity) + settlingMs };
      }),
  );
  return {
    lives,
    /** Whether a process ran all the time, and nothing was done to it. */
    isWell: ({ incarnation, startedMs, endedMs }: Life, fromMs: number, untilMs: number): boolean =>
      startedMs + settlingMs < fromMs &&
      endedMs > untilMs &&
      !harms.some(
        (harm) =>
          harm.name === nameOf(incarnation) && harm.fromMs < untilMs && harm.untilMs > fromMs,
      ),
    wasHarmed: (incarnation: string, fromMs: number, untilMs: number): boolean =>
      harms.some(
        (harm) =>
          harm.name === nameOf(incarnation) && harm.fromMs < untilMs && harm.untilMs > fromMs,
      ),
  };
}

/** A process with an older configuration that called although another one with a newer one was well. */
function findOlder(calls: readonly Call[], notes: readonly Note[]): readonly string[] {
  const { lives, isWell } = createHistory(notes);
  const problems: string[] = [];
  for (const older of lives) {
    const own = calls.find(({ incarnation }) => incarnation === older.incarnation);
    if (!own) continue;
    const newer = lives.find(
      (life) =>
        life.generation > older.generation && isWell(life, older.startedMs, own.startMs + 1_000),
    );
    if (!newer) continue;
    problems.push(
      `${older.incarnation}, whose configuration is older than that of ${newer.incarnation}, called at ${timeOf(own.startMs)}`,
    );
  }
  return problems;
}

/** Only where all others were well all the time: one that is not may be the one that is to take over. */
function gapsAfter(
  end: "killed" | "stopping",
  byTarget: ReadonlyMap<string, readonly Call[]>,
  notes: readonly Note[],
): readonly number[] {
  const { lives, isWell, wasHarmed } = createHistory(notes);
  return notes.flatMap(({ what, incarnation, atMs }) => {
    if (what !== end || wasHarmed(incarnation, atMs, atMs)) return [];
    const untilMs = atMs + leaseMs + 2 * intervalMs;
    const others = lives.filter(
      (life) =>
        life.incarnation !== incarnation &&
        life.startedMs < untilMs &&
        life.endedMs > atMs - leaseMs,
    );
    if (others.length === 0 || !others.every((life) => isWell(life, atMs, untilMs))) return [];
    return Array.from(byTarget.values()).flatMap((calls) => {
      const last = calls.findLast((call) => call.startMs <= atMs);
      if (last?.incarnation !== incarnation || atMs - last.startMs > 1.5 * intervalMs) return [];
      const next = calls.find(
        (call) => call.startMs > last.startMs && call.incarnation !== incarnation,
      );
      return next ? next.startMs - last.startMs : [];
    });
  });
}
