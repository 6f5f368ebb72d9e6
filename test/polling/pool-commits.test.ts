import { setImmediate as settle } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import type { Verdict } from "../../src/alerts/judge.ts";
import { watchPools } from "../../src/polling/watched-pools.ts";
import type { PoolRule } from "../../src/alerts/rule.ts";
import { noSuppressions } from "../../src/alerts/silence.ts";
import { Secret } from "../../src/lib/secret.ts";
import { createTargetUnits } from "../../src/polling/target-unit.ts";
import { captureLog } from "../support/capture-log.ts";
import { createFakeClock } from "../support/fake-clock.ts";
import { judgeBy, listing, toOutcome, watchFleet } from "../support/fleet.ts";
import { minute, unshared } from "./support/start-polling.ts";

describe("polls of two targets of a pool", () => {
  const rule: PoolRule = {
    name: "all-occupied",
    on: "pool",
    of: "servers",
    by: [],
    measure: "idle",
    side: "below",
    limit: 1,
    forMs: 0,
    severity: "warning",
    keepFiringForMs: 0,
    remindEveryMs: null,
    receivers: ["oncall"],
    match: {},
    summaryTemplate: null,
    runbookUrlTemplate: null,
  };
  const targets = ["one", "other"].map((key) => ({ region: "us", key }));

  function openPools() {
    const judge = judgeBy([rule]);
    const pools = watchPools({ rules: [rule], targets, openIncidents: [], clocks: [] });
    const commits: {
      readonly verdict: Verdict;
      readonly end: () => void;
      fail: (error?: Error) => void;
    }[] = [];
    const fleets = targets.map((target, index) => watchFleet(target, { judge, id: index + 1 }));
    const units = createTargetUnits(
      fleets.map(({ watched }) => watched),
      {
        apiKeys: new Map(targets.map(({ key }) => [key, new Secret("T0PSECRET")])),
        schedule: { kind: "every", ms: minute },
        service: { listSandboxes: () => Promise.reject(new Error("it is not called")) },
        recordDrift() {},
        judge,
        suppressions: { at: () => noSuppressions },
        regions: { down: () => new Map(), wake() {} },
        pools,
        store: {
          ...unshared,
          commitPoll: (_, verdict) =>
            new Promise((resolve, reject) => {
              const fail = (error = new Error("disk full")): void => reject(error);
              commits.push({ verdict, end: resolve, fail });
            }),
        },
        notifier: { wake() {} },
        metrics: { polled() {}, committed() {}, lost() {} },
        log: captureLog().log,
        clock: createFakeClock(),
      },
    );
    const poll = async (index: number, status: "idle" | "occupied"): Promise<void> => {
      const listed = listing({ a: status });
      const verdict = fleets[index]?.poll(listed);
      if (!verdict) return;
      const polled = toOutcome(listed);
      await units[index]?.commit({ verdict, polled, options: judge, detail: null });
    };
    const messages = () =>
      commits.flatMap(({ verdict }) => verdict.pools?.incidents.outbox.map(({ type }) => type));
    const pollBoth = async (...statuses: Parameters<typeof poll>[1][]): Promise<void> => {
      const [one = "idle", other = one] = statuses;
      const both = Promise.all([poll(0, one), poll(1, other)]);
      for (let count = 0; count < 4; count += 1) {
        await settle();
        commits.forEach(({ end }) => end());
      }
      await both;
    };
    return { pools, commits, poll, pollBoth, messages };
  }

  it("that end together open and resolve an incident of it only once, and at once", async () => {
    const { pollBoth, messages } = openPools();
    await pollBoth("idle");
    await pollBoth("occupied");
    expect(messages()).toEqual(["incident.firing"]);
    await pollBoth("occupied");
    await pollBoth("idle");
    expect(messages()).toEqual(["incident.firing", "incident.resolved"]);
  });

  it("that change no incident do not wait for each other's commits", async () => {
    const { commits, poll } = openPools();
    const both = [poll(0, "idle"), poll(1, "idle")];
    await settle();
    expect(commits).toHaveLength(2);
    commits.forEach(({ end }) => end());
    await Promise.all(both);
  });

  it("that are not committed change nothing of it, and the next one notifies", async () => {
    const { pools, commits, pollBoth, poll, messages } = openPools();
    await pollBoth("idle", "occupied");
    const lost = poll(0, "occupied");
    await settle();
    commits.at(-1)?.fail();
    await expect(lost).rejects.toThrow("disk full");
    expect(pools.incidents.size).toBe(0);
    const kept = poll(0, "occupied");
    await settle();
    commits.at(-1)?.end();
    await kept;
    expect(messages()).toEqual(["incident.firing", "incident.firing"]);
    expect(pools.incidents.size).toBe(1);
  });

  it("open no incident by what one of them showed and did not commit", async () => {
    const { pools, commits, pollBoth, poll, messages } = openPools();
    await pollBoth("idle");
    const lost = poll(0, "occupied");
    const kept = poll(1, "occupied");
    await settle();
    commits.at(-1)?.fail();
    await expect(lost).rejects.toThrow("disk full");
    await settle();
    commits.at(-1)?.end();
    await kept;
    expect(messages()).toEqual([]);
    expect(pools.incidents.size).toBe(0);
    await pollBoth("occupied");
    expect(messages()).toEqual(["incident.firing"]);
  });
});
