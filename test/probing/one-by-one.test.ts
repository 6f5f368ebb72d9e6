import { setImmediate as settle } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import type { Target } from "../../src/core/model.ts";
import type { Admission } from "../../src/polling/key-limits.ts";
import { createKeyLimits } from "../../src/polling/key-limits.ts";
import { admitOneByOne } from "../../src/probing/one-by-one.ts";
import { createFakeClock } from "../support/fake-clock.ts";

const us: Target = { region: "us", key: "research" };
const eu: Target = { region: "eu", key: "research" };

/** A key that may be used once a second, asked by polls and probes. */
function start() {
  const clock = createFakeClock();
  const startedMs = clock.now().monotonicMs;
  const limits = createKeyLimits(clock, { requests: 1, perMs: 1_000 });
  const probes = admitOneByOne(limits, clock);
  const stop = new AbortController();
  const admitted: string[] = [];
  const note = async (who: string, asked: Promise<Admission>): Promise<void> => {
    const admission = await asked;
    if (admission.kind === "granted") admission.sent();
    const seconds = (clock.now().monotonicMs - startedMs) / 1_000;
    admitted.push(`${who} ${admission.kind} ${seconds.toFixed(2)}`);
  };
  const ask = (who: string, target: Target, untilMs = 60_000, by = probes): void => {
    void note(who, by.admit(target, startedMs + untilMs, stop.signal));
  };
  return {
    clock,
    limits,
    admitted,
    stop: () => stop.abort(),
    probe: ask,
    poll: (who: string, target: Target) => ask(who, target, 60_000, limits),
    pass: async (seconds: number) => {
      for (let step = 0; step < seconds * 20; step += 1) {
        await settle();
        clock.advance(50);
      }
      await settle();
    },
  };
}

describe("probes of a key", () => {
  it("do not keep a poll waiting for more than one of them in each region", async () => {
    const { probe, poll, pass, admitted } = start();
    for (const number of [1, 2, 3, 4, 5]) probe(`us ${number}`, us);
    for (const number of [1, 2, 3]) probe(`eu ${number}`, eu);
    await pass(0.1);
    poll("poll", us);
    await pass(3);
    expect(admitted.indexOf("poll granted 2.10")).toBeLessThanOrEqual(2);
    await pass(9);
    expect(admitted).toHaveLength(9);
  });

  it("come in their order, and none before its token", async () => {
    const { probe, pass, admitted } = start();
    for (const number of [1, 2, 3]) probe(String(number), us);
    await pass(5);
    expect(admitted).toEqual(["1 granted 0.00", "2 granted 1.05", "3 granted 2.10"]);
  });

  it("give up when their own time is over, whoever waits ahead of them", async () => {
    const { clock, limits, probe, poll, pass, admitted } = start();
    limits.pause(us, clock.now().monotonicMs + 40_000);
    probe("patient", us);
    probe("impatient", us, 5_000);
    probe("behind it", us);
    await pass(6);
    expect(admitted).toEqual(["impatient too_late 5.00"]);
    poll("poll", us);
    await pass(40);
    // Still there is one of them at most ahead of a poll.
    expect(admitted.slice(1)).toEqual([
      "patient granted 40.00",
      "poll granted 41.05",
      "behind it granted 42.10",
    ]);
  });

  it("stop waiting when sandwatch stops, and leave no timer behind", async () => {
    const { clock, probe, pass, stop, admitted } = start();
    for (const number of [1, 2, 3]) probe(String(number), us);
    await pass(0.1);
    stop();
    await pass(0.1);
    expect(admitted.map((each) => each.split(" ")[1])).toEqual(["granted", "stopped", "stopped"]);
    expect(clock.armed).toBe(0);
  });
});
