import { expect, it } from "vitest";
import { watchLoops } from "../../src/app/watch-loops.ts";
import { createWatchdog } from "../../src/app/watchdog.ts";
import { createLogger } from "../../src/lib/logger.ts";
import { createFakeClock } from "../support/fake-clock.ts";
import { testConfig } from "../support/test-config.ts";

const hour = 3_600_000;

function open() {
  const clock = createFakeClock();
  const events: string[] = [];
  const note = (fields: { readonly event: string }): void => void events.push(fields.event);
  return { clock, events, watchdog: createWatchdog(clock, { error: note, info: note }) };
}

it("says at once that a loop has turns again", () => {
  const { clock, events, watchdog } = open();
  watchdog.watch("polls", "us/research", 10_000);
  watchdog.start();
  clock.advance(21_000);
  expect(events).toEqual(["loop.silent"]);
  watchdog.turn("polls", "us/research");
  expect(events).toEqual(["loop.silent", "loop.recovered"]);
  watchdog.stop();
  expect(clock.armed).toBe(0);
});

it("does not mind a wall clock that is stepped, and names what has no turns", () => {
  const { clock, watchdog } = open();
  for (const name of ["us/a", "us/b", "us/c"]) watchdog.watch("polls", name, 10_000);
  watchdog.start();
  clock.stepUtc(24 * hour);
  expect(watchdog.silence()).toBeNull();
  clock.stepUtc(-48 * hour);
  clock.advance(15_000);
  for (const name of ["us/a", "us/c"]) watchdog.turn("polls", name);
  clock.advance(5_001);
  expect(watchdog.silence()).toBe(
    "loop polls is silent: no run of 1 of 3, such as us/b, for more than twice the usual interval of 10s",
  );
  watchdog.stop();
});

it("waits over the weekend for a schedule of working days, and for twice that, not longer", () => {
  const clock = createFakeClock(Date.UTC(2026, 10, 20, 17));
  const config = testConfig({
    regions: { us: { base_url: "https://us.example.com" } },
    keys: [{ name: "research", api_key: "k1" }],
    poll: { schedule: "0 9-17 * * MON-FRI", time_zone: "Europe/Berlin" },
  });
  const watchdog = watchLoops(config, {
    clock,
    log: createLogger({ level: "silent", format: "json" }),
  });
  watchdog.start();
  for (let passed = 0; passed < 128; passed += 1) {
    clock.advance(hour);
    watchdog.turn("upkeep", "upkeep");
  }
  expect(watchdog.silence()).toBeNull();
  clock.advance(1);
  expect(watchdog.silence()).toContain("loop polls is silent");
  watchdog.stop();
});
