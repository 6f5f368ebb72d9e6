import { describe, expect, it, onTestFinished } from "vitest";
import { watchWorld } from "../support/watched-world.ts";
import { countCalls } from "./support/counting-agent.ts";

const second = 1_000;
const minute = 60 * second;

/** When a daemon polls by its schedule from a moment on. UTC milliseconds. */
async function pollsFrom(startsAt: string, poll: object, forMs: number) {
  const polls: number[] = [];
  const { createDispatcher, count, settled } = countCalls();
  const world = await watchWorld({
    poll,
    startsAtMs: Date.parse(startsAt),
    overrides: { createDispatcher },
    wrapStore: (store) => count(store, () => void polls.push(world.clock.now().utcMs)),
  });
  onTestFinished(() => world.daemon().stop());
  world.daemon().watch();
  await settled();
  for (let passedMs = 0; passedMs < forMs; passedMs += 5 * second) {
    world.clock.advance(5 * second);
    await settled();
  }
  return { polls, events: world.log.map(({ event }) => event) };
}

describe("where clocks are changed", () => {
  it.each([
    ["America/New_York", "2026-11-01T05:59:35Z"],
    ["America/New_York", "2026-03-08T06:59:35Z"],
    ["Australia/Lord_Howe", "2026-04-04T14:59:35Z"],
  ])("polls go on every 30 seconds: %s, %s", async (zone, startsAt) => {
    const poll = { time_zone: zone, schedule: "*/30 * * * * *" };
    const { polls, events } = await pollsFrom(startsAt, poll, 75 * minute);
    const rounds = polls
      .slice(1)
      .map((ms) => Math.floor((ms - Date.parse(startsAt) - 25_000) / 30_000));
    expect(rounds).toEqual(Array.from({ length: 149 }, (_, round) => round));
    expect(events).not.toContain("clock.late");
  });

  it("a poll of every night comes once, at the end of a missing hour and in the first of two", async () => {
    const poll = { time_zone: "America/New_York", schedule: "30 1,2 * * *" };
    const roundsFrom = async (startsAt: string, hours: number): Promise<readonly string[]> => {
      const { polls } = await pollsFrom(startsAt, poll, hours * 60 * minute);
      return polls.slice(1).map((ms) => new Date(ms).toISOString().slice(0, 16));
    };
    const spring = await roundsFrom("2026-03-08T06:00:00Z", 2);
    expect(spring).toEqual(["2026-03-08T06:30", "2026-03-08T07:00"]);
    const autumn = await roundsFrom("2026-11-01T05:00:00Z", 3);
    expect(autumn).toEqual(["2026-11-01T05:30", "2026-11-01T07:30"]);
  });
});
