import { setImmediate as settle } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import type { PoolOutcome } from "../../src/alerts/judge-pools.ts";
import { noSuppressions } from "../../src/alerts/silence.ts";
import { createCommitLoop } from "../../src/polling/commit-loop.ts";
import { createPoolWatch } from "../../src/polling/watched-pools.ts";
import { watchPools } from "../../src/polling/watched-pools.ts";
import { captureLog } from "../support/capture-log.ts";
import { createFakeClock } from "../support/fake-clock.ts";
import { judgeBy, listing, watchFleet } from "../support/fleet.ts";
import { poolRule } from "./support/watch-pools.ts";

describe("pools", () => {
  const rule = poolRule({ name: "all-occupied", by: [], measure: "idle", side: "below", limit: 1 });
  const targets = ["one", "other"].map((key) => ({ region: "us", key }));

  function openPools() {
    const judge = judgeBy([rule]);
    const pools = watchPools({ rules: [rule], targets, openIncidents: [], clocks: [] });
    const fleets = targets.map((target, index) => watchFleet(target, { judge, id: index + 1 }));
    const world = { commit: (): Promise<void> => Promise.resolve() };
    const committed: PoolOutcome[] = [];
    const { log, lines } = captureLog();
    const commits = createCommitLoop(log);
    let notified = 0;
    commits.onOutbox(() => void (notified += 1));
    const watch = createPoolWatch({
      commits,
      pools,
      store: {
        async commitPools(_, outcome) {
          await world.commit();
          committed.push(outcome);
        },
      },
      judge,
      suppressions: { at: () => noSuppressions },
      clock: createFakeClock(),
      log,
    });
    /** Gives whether receivers were notified meanwhile. */
    const poll = async (index: number, status: "idle" | "occupied"): Promise<boolean> => {
      const fleet = fleets[index];
      const target = targets[index];
      if (!fleet || !target) throw new Error("there is no such target");
      const { at, snapshot } = fleet.poll(listing({ a: status }));
      const before = notified;
      await watch.judge(index + 1, { target, at, snapshot, whole: true });
      return notified > before;
    };
    const messages = () =>
      committed.flatMap(({ incidents }) => incidents.outbox.map(({ type }) => type));
    return { pools, world, committed, poll, messages, lines };
  }

  it("are judged over what was committed, and open and resolve an incident once", async () => {
    const { poll, messages } = openPools();
    await Promise.all([poll(0, "idle"), poll(1, "idle")]);
    expect(await Promise.all([poll(0, "occupied"), poll(1, "occupied")])).toEqual([false, true]);
    await Promise.all([poll(0, "occupied"), poll(1, "occupied")]);
    expect(messages()).toEqual(["incident.firing"]);
    await Promise.all([poll(0, "idle"), poll(1, "idle")]);
    expect(messages()).toEqual(["incident.firing", "incident.resolved"]);
  });

  it("are judged after a poll only when what the one before meant is stored", async () => {
    const { world, committed, poll } = openPools();
    const storing = Promise.withResolvers<void>();
    world.commit = () => storing.promise;
    const both = [poll(0, "idle"), poll(1, "idle")];
    let asked = 0;
    world.commit = () => (asked++ === 0 ? storing.promise : Promise.resolve());
    await settle();
    expect([asked, committed.length]).toEqual([1, 0]);
    storing.resolve();
    await Promise.all(both);
    expect(committed).toHaveLength(2);
  });

  it("are unobserved from a poll on whose meaning could not be stored, and the next one decides it again", async () => {
    const { pools, world, poll, messages, lines } = openPools();
    await Promise.all([poll(0, "idle"), poll(1, "occupied")]);
    world.commit = () => Promise.reject(new Error("disk full"));
    expect(await poll(0, "occupied")).toBe(false);
    expect(lines).toMatchObject([{ event: "pool.failed", region: "us", key: "one" }]);
    world.commit = () => Promise.resolve();
    await poll(1, "occupied");
    expect(pools.incidents.size).toBe(0);
    await poll(0, "occupied");
    expect(messages()).toEqual(["incident.firing"]);
    expect(pools.incidents.size).toBe(1);
  });

  it("that a target does not add to are not judged", async () => {
    const { pools } = openPools();
    expect(pools.isPooled({ region: "eu", key: "one" })).toBe(false);
  });
});
