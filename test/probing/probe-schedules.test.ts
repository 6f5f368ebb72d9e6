import { setImmediate as settle } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { subjectName } from "../../src/core/probe.ts";
import type { Schedule } from "../../src/core/schedule.ts";
import { createProbeSchedules } from "../../src/probing/probe-schedules.ts";
import { watchProbe } from "../../src/probing/watched-probe.ts";
import { createFakeClock } from "../support/fake-clock.ts";
import { login, neverRun } from "../support/probes.ts";

const second = 1_000;

function every(name: string, seconds: number, id: number) {
  const schedule: Schedule = { kind: "every", ms: seconds * second };
  const probe = { ...login, name, schedule };
  return watchProbe(probe, neverRun(probe, id), 3);
}

function start(run: (name: string) => Promise<void> = () => Promise.resolve()) {
  const clock = createFakeClock();
  const startedMs = clock.now().monotonicMs;
  const ran: { readonly name: string; readonly atMs: number; readonly deadlineMs: number }[] = [];
  const probes = [every("fast", 10, 1), every("slow", 60, 2), every("other", 10, 3)];
  const schedules = createProbeSchedules({
    probes,
    clock,
    run(subject, deadlineMs) {
      const name = subjectName(subject);
      const atMs = clock.now().monotonicMs - startedMs;
      ran.push({ name, atMs, deadlineMs: deadlineMs - startedMs });
      return run(name);
    },
    ticking: { clock, onLateTick() {} },
  });
  const pass = async (seconds: number): Promise<void> => {
    for (let time = 0; time < seconds; time += 1) {
      clock.advance(second);
      await settle();
    }
  };
  const runsOf = (name: string) => ran.filter((each) => each.name === `${name}/us/research`);
  return { clock, schedules, pass, ran, runsOf };
}

describe("the schedules of probes", () => {
  it("give each its first run right after the start, and then one in each of its own rounds", async () => {
    const { schedules, pass, runsOf } = start();
    schedules.start();
    await pass(2);
    for (const name of ["fast", "slow", "other"]) expect(runsOf(name)).toHaveLength(1);
    await pass(120);
    expect(runsOf("fast").length).toBeGreaterThanOrEqual(12);
    expect(runsOf("fast").length).toBeLessThanOrEqual(13);
    expect(runsOf("slow").length).toBeGreaterThanOrEqual(2);
    expect(runsOf("slow").length).toBeLessThanOrEqual(3);
    for (const { atMs, deadlineMs } of runsOf("fast").slice(2)) {
      expect(deadlineMs - atMs).toBeLessThanOrEqual(10 * second);
    }
    await schedules.stop();
  });

  it("never let two runs of one overlap, and others do not wait for it", async () => {
    const held = Promise.withResolvers<void>();
    const { schedules, pass, runsOf } = start((name) =>
      name.startsWith("fast") ? held.promise : Promise.resolve(),
    );
    schedules.start();
    await pass(45);
    expect(runsOf("fast")).toHaveLength(1);
    expect(runsOf("other").length).toBeGreaterThan(3);
    held.resolve();
    await pass(15);
    expect(runsOf("fast").length).toBeGreaterThan(1);
    await schedules.stop();
  });

  it("end with what is under way, and leave no timer", async () => {
    const held = Promise.withResolvers<void>();
    const { clock, schedules, pass, ran } = start(() => held.promise);
    schedules.start();
    await pass(1);
    let stopped = false;
    const stopping = schedules.stop().then(() => (stopped = true));
    await settle();
    expect(stopped).toBe(false);
    held.resolve();
    await stopping;
    const before = ran.length;
    await pass(60);
    expect(ran).toHaveLength(before);
    expect(clock.armed).toBe(0);
  });
});
