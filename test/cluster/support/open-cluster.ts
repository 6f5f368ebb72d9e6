import { setImmediate as settle } from "node:timers/promises";
import { expect } from "vitest";
import { createMembership } from "../../../src/cluster/membership.ts";
import type { OwnedWork } from "../../../src/cluster/ownership.ts";
import { captureLog } from "../../support/capture-log.ts";
import { createFakeClock } from "../../support/fake-clock.ts";
import { createMemoryReplicas } from "./memory-replicas.ts";

export const units = Array.from({ length: 32 }, (_, index) => `key:${index}`);
const leaseMs = 15_000;

/** A cluster whose replicas are started one by one, each with its own idea of the time of day. */
/** @param earlyMs how much too early timers call back, as those of Node.js may */
export function openCluster({ earlyMs = 0 } = {}) {
  const clock = createFakeClock();
  const database = createMemoryReplicas(clock);
  let started = 0;

  /** Moves the time on in steps, so that what is awaited between them happens. */
  const pass = async (ms: number): Promise<void> => {
    for (let passedMs = 0; passedMs < ms; passedMs += 50) {
      clock.advance(Math.min(50, ms - passedMs));
      await settle();
      await settle();
    }
  };

  const open = (address: string, configuration = "first") => {
    const { store, state } = database.open();
    const { log, lines } = captureLog("debug");
    const hourMs = (started += 1) * 3_600_000;
    const working = new Set<string>();
    const took: number[] = [];
    const heard: string[] = [];
    /** Until they are resolved, work neither begins nor ends. */
    const gates: Record<keyof OwnedWork, Promise<void> | null> = {
      gain: null,
      giveUp: null,
      dropAll: null,
    };
    const ownership = createMembership({
      store,
      replica: { address, version: "1.0.0", configuration },
      units,
      leaseMs,
      clock: {
        ...clock,
        setTimer: (delayMs, callback) => clock.setTimer(Math.max(1, delayMs - earlyMs), callback),
        now() {
          const { utcMs, monotonicMs } = clock.now();
          return { utcMs: utcMs + hourMs, monotonicMs: monotonicMs + hourMs };
        },
      },
      log,
      onTakenOver: (count) => void took.push(count),
    });
    const work: OwnedWork = {
      async gain(gained) {
        heard.push("gain");
        await gates.gain;
        for (const unit of gained) {
          expect(working).not.toContain(unit);
          if (ownership.owns(unit)) working.add(unit);
        }
      },
      async giveUp(released) {
        heard.push("giveUp");
        await gates.giveUp;
        for (const unit of released) working.delete(unit);
      },
      async dropAll() {
        heard.push("dropAll");
        working.clear();
        await gates.dropAll;
      },
    };
    const events = (): readonly string[] =>
      lines.flatMap(({ event }) => (event === undefined ? [] : [event.replace("cluster.", "")]));
    const start = async () => {
      await ownership.start(work);
      await settle();
      await settle();
    };
    return { ownership, work, working, gates, state, heard, took, lines, events, start };
  };
  /** As `open`, started. */
  const start = async (...args: Parameters<typeof open>) => {
    const replica = open(...args);
    await replica.start();
    return replica;
  };
  /** Whether every unit is worked for by exactly one of them. */
  const shares = (...replicas: readonly { readonly working: ReadonlySet<string> }[]): boolean => {
    const all = replicas.flatMap(({ working }) => [...working]);
    return all.length === units.length && new Set(all).size === units.length;
  };
  return { clock, database, pass, open, start, shares };
}
