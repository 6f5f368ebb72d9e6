import { systemClock, type Clock } from "../../../src/lib/clock.ts";

/** The machine's clock with a time of day that is off. */
export const shiftedClock = (offMs: number): Clock => ({
  ...systemClock,
  now() {
    const { utcMs, monotonicMs } = systemClock.now();
    return { utcMs: utcMs + offMs, monotonicMs };
  },
});
