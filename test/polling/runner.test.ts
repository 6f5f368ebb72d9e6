import { setImmediate as settle } from "node:timers/promises";
import { expect, it } from "vitest";
import type { Instant } from "../../src/fleet/model.ts";
import { createRetryBudget } from "../../src/lib/retry.ts";
import { KeyLimits } from "../../src/polling/key-limits.ts";
import { Runner } from "../../src/polling/runner.ts";
import type { Run, Unit } from "../../src/polling/runner.ts";
import type { CallFailure } from "../../src/service/failure.ts";
import { createFakeClock } from "../support/fake-clock.ts";
import { research } from "../support/fleet.ts";
import { failed, second } from "./support/start-polling.ts";

const ok = { kind: "ok" } as const;

/** Units by their names, with the seconds of their rounds. */
function start(
  intervals: Readonly<Record<string, number>>,
  call: (signal: AbortSignal) => typeof ok | Promise<typeof ok | CallFailure> = () => ok,
) {
  const clock = createFakeClock();
  const commits = { may: Promise.resolve() };
  let committed = 0;
  let gaps = 0;
  const runs: { readonly name: string; readonly run: Run }[] = [];
  const noted = new Map<string, Instant>();
  const units = Object.entries(intervals).map(([name, seconds]): Unit<typeof ok> => ({
    name,
    target: research,
    schedule: { kind: "every", ms: seconds * second },
    call: async ({ signal }) => call(signal),
    async commit(_, run) {
      runs.push({ name, run });
      await commits.may;
      committed += 1;
    },
    noteGap: () => void (gaps += 1),
    lose(error) {
      throw error;
    },
  }));
  const limits = new KeyLimits(clock, { requests: 1_000, perMs: second });
  const runner = new Runner<typeof ok>(
    {
      loop: "probes",
      limits,
      budget: createRetryBudget(1),
      random: () => 0.5,
      runs: noted,
      ticking: { clock, log: { warn() {} } },
      clock,
    },
    units,
  );
  const pass = async (seconds: number): Promise<void> => {
    for (let time = 0; time < seconds; time += 1) {
      clock.advance(second);
      await settle();
    }
  };
  const runsOf = (name: string) => runs.filter((each) => each.name === name);
  return {
    clock,
    runner,
    units,
    limits,
    runs,
    runsOf,
    noted,
    pass,
    committing: commits,
    commits: () => committed,
    gaps: () => gaps,
  };
}

it("runs each unit right after the start, and then once in each round of its own schedule", async () => {
  const { runner, pass, runsOf, noted } = start({ fast: 10, slow: 60, other: 10 });
  runner.start();
  await pass(2);
  for (const name of ["fast", "slow", "other"]) expect(runsOf(name)).toHaveLength(1);
  expect(noted.has("probes slow")).toBe(true);
  await pass(120);
  expect(runsOf("fast").length).toBeOneOf([12, 13]);
  expect(runsOf("slow").length).toBeOneOf([2, 3]);
  for (const { run } of runsOf("fast").slice(2)) {
    expect(run.deadlineMs - run.startedMs).toBeLessThanOrEqual(10 * second);
  }
  await runner.stop();
});

it("stops once what is under way has ended, and leaves no timer", async () => {
  const held = Promise.withResolvers<typeof ok>();
  const { clock, runner, pass, runs } = start({ one: 10, other: 60 }, () => held.promise);
  runner.start();
  await pass(1);
  let stopped = false;
  const stopping = runner.stop().then(() => (stopped = true));
  await settle();
  expect(stopped).toBe(false);
  held.resolve(ok);
  await stopping;
  await pass(60);
  expect([runs.length, clock.armed]).toEqual([0, 0]);
});

it.each([
  [9, 0],
  [25, 1],
])(
  "where a commit takes %d s, %d gaps are noted: no run is made meanwhile",
  async (seconds, noted) => {
    const { runner, pass, committing, gaps } = start({ one: 10 });
    runner.start();
    await pass(30);
    const stuck = Promise.withResolvers<void>();
    committing.may = stuck.promise;
    await pass(10 + seconds);
    stuck.resolve();
    await pass(30);
    expect(gaps()).toBe(noted);
    await runner.stop();
  },
);

it("the time of a call is from its first attempt, after the wait for the key's limit, to the end of its last", async () => {
  const answers = [failed("server_error"), ok];
  const { clock, runner, units, limits, runs } = start({ one: 60 }, () => {
    clock.advance(second);
    return Promise.resolve(answers.shift() ?? ok);
  });
  const [unit] = units;
  if (!unit) throw new Error("there is a unit");
  const startedMs = clock.now().monotonicMs;
  limits.pause(research, startedMs + 5 * second);
  const running = runner.run(unit, startedMs + 60 * second);
  await settle();
  clock.advance(5 * second);
  await settle();
  // The wait before the retry.
  clock.advance(250);
  await running;
  const times = { startedMs, calledMs: startedMs + 5_000, endedMs: startedMs + 7_250 };
  expect(runs).toMatchObject([{ run: times }]);
});
