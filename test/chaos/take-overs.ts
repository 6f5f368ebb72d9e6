import type { FaultKind } from "./faults.ts";
import type { LogEvent } from "./victim.ts";
import { targetNameOf, targets, type Call } from "./world.ts";

/** A fault after which another process must take over, while nothing else happens. */
export interface MeasuredFault {
  readonly kind: FaultKind;
  readonly incarnation: string;
  readonly atMs: number;
}

export interface TakeOver {
  readonly kind: FaultKind;
  /** Until the other process is active. */
  readonly activeMs: number;
  /** How long it then takes until it has read what is stored and begins to poll. */
  readonly startMs: number;
  /** For each target, until it is polled. */
  readonly polledMs: readonly number[];
}

/** @returns how long taking over took, without what never happened */
export function measureTakeOvers(
  faults: readonly MeasuredFault[],
  events: readonly LogEvent[],
  calls: readonly Call[],
): readonly TakeOver[] {
  const byTarget = Map.groupBy(
    calls.toSorted((one, other) => one.startMs - other.startMs),
    targetNameOf,
  );
  return faults.flatMap(({ kind, incarnation, atMs }) => {
    const next = (event: string, fromMs: number): LogEvent | undefined =>
      events.find(
        (each) => each.event === event && each.atMs >= fromMs && each.incarnation !== incarnation,
      );
    const active = next("process.active", atMs);
    const started = active && next("daemon.started", active.atMs);
    if (!active || !started) return [];
    const polledMs = targets.flatMap((target) => {
      const first = byTarget
        .get(targetNameOf(target))
        ?.find((call) => call.incarnation === active.incarnation && call.startMs >= active.atMs);
      return first ? first.startMs - atMs : [];
    });
    return {
      kind,
      activeMs: active.atMs - atMs,
      startMs: started.atMs - active.atMs,
      polledMs,
    };
  });
}
