import { expect, it, onTestFinished } from "vitest";
import { createHealth, healthProblemOf } from "../../src/app/health.ts";
import type { ReceiverHealth, TargetHealth } from "../../src/app/health.ts";
import { openStore } from "../../src/store/store.ts";
import { createFakeClock } from "../support/fake-clock.ts";
import { testConfig } from "../support/test-config.ts";

const minuteMs = 60_000;
const well = { polled: true, lostPolls: 0 };
const sound = { lostRuns: 0 };

function receiver(more: Partial<ReceiverHealth> = {}): ReceiverHealth {
  return { groupingMs: 0, pendingForMs: null, ungroupedForMs: null, ...more };
}

const stuck = receiver({ pendingForMs: 15 * minuteMs + 1 });
const noneAccepts = "no receiver accepts notifications";

it.each<[string, readonly ReceiverHealth[], string | null]>([
  ["there are no receivers", [], null],
  ["nothing waits", [receiver()], null],
  ["a notification waits for 15 minutes", [receiver({ pendingForMs: 15 * minuteMs })], null],
  ["one receiver of two accepts notifications", [stuck, receiver()], null],
  [
    "a group waits as long as its receiver wants it to, and 15 minutes",
    [receiver({ groupingMs: 60 * minuteMs, ungroupedForMs: 75 * minuteMs })],
    null,
  ],
  ["notifications to any receiver wait longer", [stuck, stuck], noneAccepts],
  [
    "groups wait longer",
    [receiver({ groupingMs: 10, ungroupedForMs: 15 * minuteMs + 11 })],
    noneAccepts,
  ],
  [
    "notifications wait longer, whatever groups may",
    [receiver({ ...stuck, groupingMs: 60 * minuteMs })],
    noneAccepts,
  ],
])("health while %s", (_, receivers, problem) => {
  expect(healthProblemOf([well, well], [sound], receivers)).toBe(problem);
});

it.each([
  [[{ ...well, lostPolls: 1 }], [sound], "the store did not accept the last poll of 1 of 1 target"],
  [[well, { ...well, polled: false }], [], "the first poll of 1 of 2 targets has not ended"],
  [[well], [sound, { lostRuns: 1 }], "the store did not accept the last run of 1 of 2 probes"],
])("lost polls and runs are a health problem: %#", (targets, probes, problem) => {
  expect(healthProblemOf(targets, probes, [receiver()])).toBe(problem);
});

it.each([false, true])(
  "a process is ready once its first targets were polled, or at once where it took over (%s), and while it has its lease",
  async (tookOver) => {
    const store = openStore(":memory:");
    onTestFinished(() => store.close());
    const targets: TargetHealth[] = [];
    let mayAct = false;
    const health = createHealth({
      config: testConfig({
        regions: { us: { base_url: "https://us.example.com" } },
        keys: [{ name: "research", api_key: "key-research" }],
      }),
      store: { ...store, leadership: { mayAct: () => mayAct, remainingMs: () => 0 } },
      targets,
      probes: [],
      watchdog: { silentLoop: () => null },
      clock: createFakeClock(),
      tookOver,
    });
    const late = expect.stringContaining("has not confirmed in time");
    expect(await health.readiness()).toEqual({ ready: false, reason: late });
    expect(await health.problem()).toEqual(late);
    mayAct = true;
    const unpolled = { polled: false, lostPolls: 0 };
    targets.push(unpolled);
    expect(await health.readiness()).toMatchObject({ ready: tookOver });
    expect(await health.problem()).toBe("the first poll of 1 of 1 target has not ended");
    targets.splice(0, 1, well);
    expect(await health.readiness()).toEqual({ ready: true });
    targets.push({ polled: true, lostPolls: 1 });
    expect(await health.readiness()).toMatchObject({ ready: false });
  },
);
