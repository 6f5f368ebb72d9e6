import { onTestFinished } from "vitest";
import type { Target } from "../../src/fleet/model.ts";
import {
  createSimulator,
  type Simulator,
  type SimulatorOptions,
} from "../../src/simulator/simulator.ts";
import { createFakeClock, type FakeClock } from "../support/fake-clock.ts";

export const us: Target = { region: "us", key: "research" };

/** A fake clock that tells when somebody begins to wait on it. */
export interface WatchedClock extends FakeClock {
  /** Resolves once for every timer armed, in order, also for those armed before the call. */
  timerArmed(): Promise<void>;
}

export function createWatchedClock(): WatchedClock {
  const clock = createFakeClock();
  let untold = 0;
  const waiting: (() => void)[] = [];
  return {
    now: () => clock.now(),
    advance: (ms) => clock.advance(ms),
    holdUp: (ms) => clock.holdUp(ms),
    stepUtc: (ms) => clock.stepUtc(ms),
    get armed() {
      return clock.armed;
    },
    setTimer(delayMs, callback) {
      const cancel = clock.setTimer(delayMs, callback);
      const resolve = waiting.shift();
      if (resolve) resolve();
      else untold++;
      return cancel;
    },
    timerArmed() {
      if (untold > 0) return Promise.resolve(void untold--);
      return new Promise((resolve) => waiting.push(resolve));
    },
  };
}

interface How {
  readonly key?: string;
  readonly region?: string;
  readonly init?: RequestInit;
}

export interface Started {
  readonly simulator: Simulator;
  /** The base address of each region. */
  readonly bases: ReadonlyMap<string, string>;
  readonly clock: WatchedClock;
  /** Asks with a key, by default `research`, in a region, by default `us`. */
  readonly get: (path: string, how?: How) => Promise<Response>;
}

/** Two regions, two keys, forty servers each and no rate limit, unless told otherwise. */
export async function startSimulator(options: Partial<SimulatorOptions> = {}): Promise<Started> {
  const clock = createWatchedClock();
  const simulator = createSimulator({
    seed: 7,
    clock,
    regions: ["us", "eu"],
    keys: ["research", "training"].map((name) => ({ name, apiKey: `${name}-key` })),
    servers: 40,
    rateLimit: null,
    ...options,
  });
  const bases = await simulator.listen({ host: "127.0.0.1", port: 0 });
  onTestFinished(() => simulator.close());
  return {
    simulator,
    bases,
    clock,
    get: (path, { key = "research", region = "us", init = {} } = {}) =>
      fetch(`${bases.get(region)}${path}`, {
        headers: { authorization: `Bearer ${key}-key` },
        redirect: "manual",
        ...init,
      }),
  };
}
