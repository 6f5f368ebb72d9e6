import type { Clock } from "../lib/clock.ts";

interface RepeaterDeps {
  readonly clock: Clock;
  readonly everyMs: number;
  /** The delay of the first run after the start. */
  readonly firstAfterMs: number;
  /** Must not reject. While one run is under way, no other begins. */
  readonly run: () => Promise<void>;
}

/** Repeats something at even intervals of the monotonic clock. */
export function createRepeater({ clock, everyMs, firstAfterMs, run }: RepeaterDeps) {
  let underWay: Promise<void> | null = null;
  let stopped = false;
  let cancel = (): void => {};

  const repeat = (): void => {
    cancel = clock.setTimer(everyMs, repeat);
    underWay ??= run().finally(() => (underWay = null));
  };

  return {
    start(): void {
      if (!stopped) cancel = clock.setTimer(firstAfterMs, repeat);
    },
    /** Resolves when the run under way has ended. */
    async stop(): Promise<void> {
      stopped = true;
      cancel();
      await underWay;
    },
  };
}
