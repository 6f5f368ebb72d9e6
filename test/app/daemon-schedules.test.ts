import { setImmediate as settle } from "node:timers/promises";
import { Agent } from "undici";
import type { Dispatcher } from "undici";
import { describe, expect, it, onTestFinished } from "vitest";
import { told } from "../support/heard.ts";
import { watchWorld } from "../support/watched-world.ts";
import type { WatchedWorld, WorldOptions } from "../support/watched-world.ts";

const second = 1_000;
const minute = 60 * second;

interface RunningWorld {
  readonly world: WatchedWorld;
  /** When polls and runs of the probe were committed. UTC milliseconds. */
  readonly polls: readonly number[];
  readonly runs: readonly number[];
  /** Lets time pass, in which no call takes any. */
  pass(ms: number): Promise<void>;
}

/** A daemon that polls and probes by its schedules, from a moment on. */
async function runWorld(startsAt: string, options: WorldOptions): Promise<RunningWorld> {
  let sent = 0;
  class CountingAgent extends Agent {
    override dispatch(
      request: Dispatcher.DispatchOptions,
      handler: Dispatcher.DispatchHandler,
    ): boolean {
      if (/\/(?:local-sandbox|user)/.test(request.path)) sent += 1;
      return super.dispatch(request, handler);
    }
  }
  const polls: number[] = [];
  const runs: number[] = [];
  const world = await watchWorld({
    ...options,
    startsAtMs: Date.parse(startsAt),
    overrides: { createDispatcher: () => new CountingAgent() },
    wrapStore: (store) => ({
      ...store,
      async commitPoll(...poll) {
        await store.commitPoll(...poll);
        polls.push(world.clock.now().utcMs);
      },
      probes: {
        ...store.probes,
        async commitRun(...run) {
          await store.probes.commitRun(...run);
          runs.push(world.clock.now().utcMs);
        },
      },
    }),
  });
  const settled = async (): Promise<void> => {
    do await settle();
    while (polls.length + runs.length < sent);
  };
  onTestFinished(() => world.daemon().stop());
  world.daemon().watch();
  await settled();
  return {
    world,
    polls,
    runs,
    async pass(ms) {
      for (let passedMs = 0; passedMs < ms; passedMs += 5 * second) {
        world.clock.advance(5 * second);
        await settled();
      }
    },
  };
}

/** How many of the moments lie in each stretch of time, from the first on. */
function countEach(moments: readonly number[], fromMs: number, lengthMs: number): Set<number> {
  const counts = new Map<number, number>();
  for (const ms of moments) {
    const index = Math.floor((ms - fromMs) / lengthMs);
    counts.set(index, (counts.get(index) ?? 0) + 1);
  }
  const last = Math.max(...counts.keys());
  return new Set(Array.from({ length: last }, (_, index) => counts.get(index) ?? 0));
}

/** Shortly before clocks are set back or forward. */
const changes = [
  ["America/New_York", "2026-11-01T05:59:35Z"],
  ["America/New_York", "2026-03-08T06:59:35Z"],
  ["Australia/Lord_Howe", "2026-04-04T14:59:35Z"],
  ["Australia/Lord_Howe", "2026-10-03T15:29:35Z"],
] as const;

describe("where clocks are changed", () => {
  it.each(changes)("polls go on every 30 seconds: %s, %s", async (zone, startsAt) => {
    const running = await runWorld(startsAt, {
      poll: { time_zone: zone, schedule: "*/30 * * * * *" },
    });
    await running.pass(75 * minute);
    const firstRoundMs = Date.parse(startsAt) + 25 * second;
    expect(countEach(running.polls.slice(1), firstRoundMs, 30 * second)).toEqual(new Set([1]));
    expect(running.polls.length).toBeGreaterThanOrEqual(150);
    expect(running.world.log.filter(({ event }) => event === "clock.late")).toEqual([]);
  });

  it.each(changes)("probes go on every minute: %s, %s", async (zone, startsAt) => {
    const running = await runWorld(startsAt, {
      poll: { time_zone: zone, every: "1h" },
      probes: [{ name: "login", operation: "user", id: "user-1", schedule: "* * * * *" }],
    });
    await running.pass(75 * minute);
    const firstRoundMs = Date.parse(startsAt) + 25 * second;
    expect(countEach(running.runs.slice(1), firstRoundMs, minute)).toEqual(new Set([1]));
    expect(running.runs.length).toBeGreaterThanOrEqual(75);
  });

  it("an error in the repeated hour is notified", async () => {
    const running = await runWorld("2026-11-01T05:59:35Z", {
      poll: { time_zone: "America/New_York" },
    });
    await running.pass(20 * minute);
    running.world.show(0, "error");
    await running.pass(minute);
    await running.world.peer.attempted(1);
    expect(told(running.world)).toEqual(["server-error firing"]);
  });

  it("a poll of every night comes once, at the end of a missing hour and in the first of two", async () => {
    const poll = { time_zone: "America/New_York", schedule: "30 1,2 * * *" };
    const spring = await runWorld("2026-03-08T06:00:00Z", { poll });
    await spring.pass(120 * minute);
    const autumn = await runWorld("2026-11-01T05:00:00Z", { poll });
    await autumn.pass(180 * minute);
    const roundsOf = ({ polls }: RunningWorld): string[] =>
      polls.slice(1).map((ms) => new Date(Math.floor(ms / minute) * minute).toISOString());
    expect(roundsOf(spring)).toEqual(["2026-03-08T06:30:00.000Z", "2026-03-08T07:00:00.000Z"]);
    expect(roundsOf(autumn)).toEqual(["2026-11-01T05:30:00.000Z", "2026-11-01T07:30:00.000Z"]);
  });
});
