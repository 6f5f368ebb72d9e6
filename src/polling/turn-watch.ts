import { targetName } from "../core/model.ts";
import type { Target } from "../core/model.ts";
import type { Clock } from "../platform/clock.ts";

export type TakeTurn<T = Target> = (target: T, deadlineMs: number) => Promise<void>;

/** Notices when a target's turns stay out, whatever keeps them. */
export interface TurnWatch<T = Target> {
  readonly takeTurn: TakeTurn<T>;
  /** Whether its last turn, which may hang, should have been followed by others long ago. */
  isOverdue(target: T): boolean;
}

/** After a turn so many rounds may pass until the next one. */
const roundsAllowed = 3;

/**
 * @param firstRoundMs how long after the start the first round can begin: a schedule may pause, and
 *   first polls do not wait for it
 * @param nameOf tells them apart
 */
export function watchTurns<T extends Target = Target>(
  takeTurn: TakeTurn<T>,
  clock: Clock,
  firstRoundMs: number,
  nameOf: (target: T) => string = targetName,
): TurnWatch<T> {
  const overdueAtMs = new Map<string, number>();
  return {
    takeTurn(target, deadlineMs) {
      const name = nameOf(target);
      const nowMs = clock.now().monotonicMs;
      const allowedMs = roundsAllowed * Math.max(0, deadlineMs - nowMs);
      const pauseMs = overdueAtMs.has(name) ? 0 : firstRoundMs;
      overdueAtMs.set(name, nowMs + allowedMs + pauseMs);
      return takeTurn(target, deadlineMs);
    },
    isOverdue: (target) => clock.now().monotonicMs > (overdueAtMs.get(nameOf(target)) ?? Infinity),
  };
}
