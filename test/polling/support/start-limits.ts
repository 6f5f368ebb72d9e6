import { setImmediate as settle } from "node:timers/promises";
import type { Target } from "../../../src/fleet/model.ts";
import type { Clock } from "../../../src/lib/clock.ts";
import { createKeyLimits } from "../../../src/polling/key-limits.ts";
import type { Granted } from "../../../src/polling/key-limits.ts";
import { createFakeClock } from "../../support/fake-clock.ts";

export const us: Target = { region: "us", key: "research" };
export const eu: Target = { region: "eu", key: "research" };
export const other: Target = { region: "us", key: "other" };

/** The limit of a key, and the calls that ask it. */
export function startLimits(limit = { requests: 2, perMs: 1_000 }) {
  const clock = createFakeClock();
  const startedMs = clock.now().monotonicMs;
  let dueMs: readonly number[] = [];
  const setTimer: Clock["setTimer"] = (delayMs, call) => {
    dueMs = [...dueMs, clock.now().monotonicMs + delayMs];
    return clock.setTimer(delayMs, call);
  };
  const limits = createKeyLimits({ now: () => clock.now(), setTimer }, limit);
  /** Who was let through or turned away, and when, in order. */
  const log: { name: string; admission: string; atMs: number }[] = [];
  const stop = new AbortController();
  const ask = async (
    target: Target,
    name: string,
    deadlineMs: number,
    onGranted: (granted: Granted) => void,
    order?: "one_by_one",
  ): Promise<void> => {
    const admission = await limits.admit(target, deadlineMs, stop.signal, order);
    log.push({ name, admission: admission.kind, atMs: clock.now().monotonicMs - startedMs });
    if (admission.kind === "granted") onGranted(admission);
  };
  /** A call that is sent as soon as it may leave. */
  const admit = (target: Target, name: string, withinMs = Number.POSITIVE_INFINITY): void =>
    void ask(target, name, startedMs + withinMs, ({ sent }) => sent());
  const admitProbe = (target: Target, name: string, withinMs = 60_000): void =>
    void ask(target, name, startedMs + withinMs, ({ sent }) => sent(), "one_by_one");
  /** Calls that leave, and whose connections are opened meanwhile, by their names. */
  const opening = new Map<string, Granted>();
  const admitOpening = (target: Target, name: string): void =>
    void ask(target, name, Number.POSITIVE_INFINITY, (granted) => opening.set(name, granted));
  /** Stops at every timer on the way, so that what it leads to happens at its moment. */
  const advance = async (ms: number): Promise<void> => {
    const untilMs = clock.now().monotonicMs + ms;
    for (;;) {
      await settle();
      const nowMs = clock.now().monotonicMs;
      dueMs = dueMs.filter((due) => due > nowMs);
      clock.advance(Math.min(untilMs, ...dueMs) - nowMs);
      if (clock.now().monotonicMs >= untilMs) return settle();
    }
  };
  const pause = (target: Target, untilMs: number): void =>
    limits.pause(target, startedMs + untilMs);
  const granted = () =>
    log.filter(({ admission }) => admission === "granted").map(({ name, atMs }) => [name, atMs]);
  return {
    clock,
    limits,
    log,
    stop,
    admit,
    admitProbe,
    admitOpening,
    opening,
    advance,
    pause,
    granted,
  };
}
