import type { Clock } from "../platform/clock.ts";

export interface RepeaterDeps {
  readonly clock: Clock;
  readonly everyMs: number;
  /** When the first turn is, counted from the start. */
  readonly firstAfterMs: number;
  /** Must not reject. One that is still under way when the next is due takes that one's place. */
  readonly turn: () => Promise<void>;
}

/** Does something again and again, at even distances on the monotonic clock. */
export interface Repeater {
  start(): void;
  /** Resolves when the turn under way has ended. */
  stop(): Promise<void>;
}

export function createRepeater({ clock, everyMs, firstAfterMs, turn }: RepeaterDeps): Repeater {
  let underWay: Promise<void> | null = null;
  let stopped = false;
  let cancel = (): void => {};

  const takeTurn = (): void => {
    cancel = clock.setTimer(everyMs, takeTurn);
    underWay ??= turn().finally(() => (underWay = null));
  };

  return {
    start() {
      if (!stopped) cancel = clock.setTimer(firstAfterMs, takeTurn);
    },
    async stop() {
      stopped = true;
      cancel();
      await underWay;
    },
  };
}
