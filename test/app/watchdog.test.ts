import { expect, it, onTestFinished } from "vitest";
import { loopsOf, Watchdog } from "../../src/app/watchdog.ts";
import type { LastRuns } from "../../src/lib/clock.ts";
import { createScheduler } from "../../src/polling/scheduler.ts";
import { createTicker } from "../../src/polling/ticker.ts";
import { createFakeClock } from "../support/fake-clock.ts";
import { testConfig } from "../support/test-config.ts";

const second = 1_000;
const hour = 3_600_000;

function watchWith(
  clock: ReturnType<typeof createFakeClock>,
  log: ConstructorParameters<typeof Watchdog>[1] = { error() {}, info() {} },
) {
  const runs: LastRuns = new Map();
  const noteRun = (name: string): void => void runs.set(`polls ${name}`, clock.now());
  return { watchdog: new Watchdog(clock, log, runs), noteRun, runs };
}

it("says within ten seconds that a loop runs again", () => {
  const clock = createFakeClock();
  const events: string[] = [];
  const note = (fields: { readonly event: string }): void => void events.push(fields.event);
  const { watchdog, noteRun } = watchWith(clock, { error: note, info: note });
  watchdog.watch("polls", "us/research", 10_000);
  watchdog.start();
  clock.advance(21_000);
  expect(events).toEqual(["loop.silent"]);
  noteRun("us/research");
  clock.advance(10 * second);
  expect(events).toEqual(["loop.silent", "loop.recovered"]);
  watchdog.stop();
  expect(clock.armed).toBe(0);
});

it("does not mind a wall clock that is stepped, and names what does not run", () => {
  const clock = createFakeClock();
  const { watchdog, noteRun } = watchWith(clock);
  for (const name of ["us/a", "us/b", "us/c"]) watchdog.watch("polls", name, 10_000);
  watchdog.start();
  clock.stepUtc(24 * hour);
  expect(watchdog.silentLoop()).toBeNull();
  clock.stepUtc(-48 * hour);
  clock.advance(15_000);
  for (const name of ["us/a", "us/c"]) noteRun(name);
  clock.advance(5_001);
  expect(watchdog.silentLoop()).toBe(
    "loop polls is silent: no run of 1 of 3, such as us/b, for more than twice the usual interval of 10s",
  );
  watchdog.stop();
});

it("expects runs of what is watched while it is started, and none of what is not watched any more", () => {
  const clock = createFakeClock();
  const { watchdog, noteRun } = watchWith(clock);
  watchdog.start();
  for (const name of ["us/a", "us/b"]) watchdog.watch("polls", name, 10_000);
  clock.advance(19_000);
  expect(watchdog.silentLoop()).toBeNull();
  noteRun("us/a");
  clock.advance(2_000);
  expect(watchdog.silentLoop()).toContain("no run of 1 of 2, such as us/b,");
  watchdog.stop();
  expect(clock.armed).toBe(0);
});

it("takes each run once, so that probes and scrapes of very many loops are cheap", () => {
  const clock = createFakeClock();
  const { watchdog, noteRun, runs } = watchWith(clock);
  for (const name of ["us/a", "us/b"]) watchdog.watch("polls", name, 10_000);
  watchdog.start();
  const looks = [() => watchdog.loops(), () => watchdog.silentLoop(), () => watchdog.deadLoop()];
  for (const look of looks) {
    clock.advance(15_000);
    for (const name of ["us/a", "us/b", "us/gone"]) noteRun(name);
    look();
    expect([...runs]).toEqual([]);
    expect(watchdog.silentLoop()).toBeNull();
  }
  watchdog.stop();
});

/** A watchdog over the polls of some keys. */
function watchPolls(schedule: string, startsAt: string, keys: readonly string[] = ["research"]) {
  const clock = createFakeClock(Date.parse(startsAt));
  const config = testConfig({
    regions: { us: { base_url: "https://us.example.com" } },
    keys: keys.map((name) => ({ name, api_key: `key-${name}` })),
    poll: { schedule, time_zone: "Europe/Berlin", timeout: "10s" },
  });
  let silentAtMs: number | null = null;
  const log = {
    error(fields: { readonly loop?: string }) {
      if (fields.loop === "polls") silentAtMs = clock.now().monotonicMs;
    },
    info() {},
  };
  const { watchdog, noteRun: noteRunOf } = watchWith(clock, log);
  for (const loop of loopsOf(config)) watchdog.watch(...loop);
  watchdog.start();
  onTestFinished(() => watchdog.stop());
  /** Lets time pass, and says after how much of it polls were noticed to be silent. */
  const silentAfter = (ms: number): number | null => {
    silentAtMs = null;
    const startedMs = clock.now().monotonicMs;
    clock.advance(ms);
    return silentAtMs === null ? null : silentAtMs - startedMs;
  };
  const noteRun = (key: string): void => noteRunOf(`us/${key}`);
  return { clock, config, silentAfter, noteRun };
}

const workingHours = "*/30 * 9-17 * * MON-FRI";

it.each([
  ["within working hours after twice the usual interval", "2026-11-20T10:00:27+01:00", 60],
  ["when the first run of the next day is late", "2026-11-19T17:59:57+01:00", 54_060],
  ["when the first run of Monday is late", "2026-11-20T17:59:57+01:00", 226_860],
  ["when the first run after a run in a pause is late", "2026-11-22T12:00:00+01:00", 75_660],
  ["when it is late after the clocks were set forward", "2026-03-27T17:59:57+01:00", 223_260],
])("notices that a schedule that pauses is silent: %s", (_, lastRunAt, seconds) => {
  const { silentAfter, noteRun } = watchPolls(workingHours, lastRunAt);
  noteRun("research");
  // The timer looks again a second after the deadline.
  expect(silentAfter(70 * hour)).toBe((seconds + 1) * second);
});

it.each([
  [workingHours, "17:59:19"],
  [workingHours, "17:59:45"],
  ["0 */20 9-17 * * MON-FRI", "17:35:10"],
  ["0 0,1,30 9-17 * * MON-FRI", "17:29:50"],
  ["*/2 * 9-17 * * MON-FRI", "17:59:45"],
])("finds no run late that is in time, in any phase: %s from %s", async (schedule, startsAt) => {
  const keys = Array.from({ length: 12 }, (_, index) => `key${index}`);
  const friday = `2026-11-20T${startsAt}+01:00`;
  const { clock, config, silentAfter, noteRun } = watchPolls(schedule, friday, keys);
  const scheduler = createScheduler<{ readonly name: string }>({
    units: keys.map((name) => ({ name })),
    ticker: createTicker(config.poll.schedule, {
      clock,
      wakeAt: (utcMs, onDue) => clock.setTimer(utcMs - clock.now().utcMs, onDue),
      log: { warn() {} },
    }),
    clock,
    run: async ({ name }) => noteRun(name),
  });
  scheduler.start();
  /** In steps, as a run ends only between them. */
  const pass = async (until: string): Promise<void> => {
    while (clock.now().utcMs < Date.parse(until)) {
      expect(silentAfter(1_000)).toBeNull();
      await Promise.resolve();
    }
  };
  await pass("2026-11-20T18:02:00+01:00");
  expect(silentAfter(Date.parse("2026-11-23T08:59:00+01:00") - clock.now().utcMs)).toBeNull();
  await pass("2026-11-23T09:45:00+01:00");
  await scheduler.stop();
  expect(silentAfter(hour)).not.toBeNull();
});
