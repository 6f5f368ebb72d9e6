import { describe, expect, it } from "vitest";
import { healthProblemOf } from "../../src/app/health.ts";
import type { ProbeHealth, ReceiverHealth, TargetHealth } from "../../src/app/health.ts";

const minuteMs = 60_000;

const well: TargetHealth = { polled: true, lostPolls: 0 };

function receiver(more: Partial<ReceiverHealth> = {}): ReceiverHealth {
  return { groupingMs: 0, pendingForMs: null, ungroupedForMs: null, ...more };
}

const sound: ProbeHealth = { lostRuns: 0 };

const stuck = receiver({ pendingForMs: 15 * minuteMs + 1 });

describe("sandwatch is well", () => {
  it.each<[string, readonly ReceiverHealth[]]>([
    ["there are no receivers", []],
    ["nothing waits", [receiver()]],
    ["a notification waits for up to 15 minutes", [receiver({ pendingForMs: 15 * minuteMs })]],
    ["one receiver of two takes what it is told", [stuck, receiver()]],
    [
      "a group waits as long as its receiver wants it to, and 15 minutes",
      [receiver({ groupingMs: 60 * minuteMs, ungroupedForMs: 75 * minuteMs })],
    ],
  ])("while %s", (_, receivers) => {
    expect(healthProblemOf({ targets: [well, well], probes: [sound], receivers })).toBeNull();
  });
});

describe("sandwatch is not well", () => {
  it.each<[string, Partial<TargetHealth>, string]>([
    ["the store does not take a poll", { lostPolls: 1 }, "the store did not accept the last poll"],
    ["a target was never polled", { polled: false }, "the first poll of 1 of 2 targets"],
  ])("while %s", (_, target, problem) => {
    const targets = [well, { ...well, ...target }];
    expect(healthProblemOf({ targets, probes: [sound], receivers: [receiver()] })).toContain(
      problem,
    );
  });

  it.each<[string, Partial<ProbeHealth>]>([
    ["the store does not take a run of a probe", { lostRuns: 1 }],
  ])("while %s", (_, probe) => {
    const health = { targets: [well], probes: [sound, { ...sound, ...probe }] };
    expect(healthProblemOf({ ...health, receivers: [receiver()] })).toBe(
      "the store did not accept the last run of 1 of 2 probes",
    );
  });

  it.each<[string, readonly ReceiverHealth[]]>([
    ["notifications", [stuck]],
    ["notifications to any receiver", [stuck, stuck]],
    ["groups", [receiver({ groupingMs: 10, ungroupedForMs: 15 * minuteMs + 11 })]],
    ["notifications, whatever groups may", [receiver({ ...stuck, groupingMs: 60 * minuteMs })]],
  ])("while %s wait longer", (_, receivers) => {
    expect(healthProblemOf({ targets: [well], probes: [], receivers })).toBe(
      "no receiver accepts notifications",
    );
  });
});
