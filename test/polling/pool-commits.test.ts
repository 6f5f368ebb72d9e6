import { setImmediate as settle } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import type { Verdict } from "../../src/alerts/judge.ts";
import { createPoolWatch } from "../../src/alerts/pool-watch.ts";
import type { PoolRule } from "../../src/alerts/rule.ts";
import { noSuppressions } from "../../src/alerts/silence.ts";
import { Secret } from "../../src/lib/secret.ts";
import { createTargetUnits } from "../../src/polling/target-unit.ts";
import { captureLog } from "../support/capture-log.ts";
import { createFakeClock } from "../support/fake-clock.ts";
import { judgeBy, listing, watchFleet } from "../support/fleet.ts";
import { minute } from "./support/start-polling.ts";

describe("polls of two targets of a pool", () => {
  const rule: PoolRule = {
    name: "all-occupied",
    on: "pool",
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
    const pools = createPoolWatch({ rules: [rule], targets, openIncidents: [], clocks: [] });
    const commits: { readonly verdict: Verdict; readonly end: () => void; fail: () => void }[] = [];
    const fleets = targets.map((target, index) => watchFleet(target, { judge, id: index + 1 }));
    const units = createTargetUnits(
      fleets.map(({ watched }) => watched),
      {
        apiKeys: new Map(targets.map(({ key }) => [key, new Secret("T0PSECRET")])),
        schedule: { kind: "every", ms: minute },
        service: { listSandboxes: () => Promise.reject(new Error("it is not called")) },
        judge,
        suppressions: { at: () => noSuppressions },
        pools,
        store: {
          commitPoll: (_, verdict) =>
            new Promise((resolve, reject) => {
              const fail = (): void => reject(new Error("disk full"));
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
      const verdict = fleets[index]?.poll(listing({ a: status }));
      if (verdict) await units[index]?.commit({ verdict, options: judge, detail: null });
    };
    const messages = () =>
      commits.flatMap(({ verdict }) => verdict.pools?.incidents.outbox.map(({ type }) => type));
    return { pools, commits, poll, messages };
  }

  it("that end together open and resolve an incident of it only once", async () => {
    const { commits, poll, messages } = openPools();
    const pollBoth = async (status: "idle" | "occupied"): Promise<void> => {
      const both = Promise.all([poll(0, status), poll(1, status)]);
      for (let count = 0; count < 4; count += 1) {
        commits.forEach(({ end }) => end());
        await settle();
      }
      await both;
    };
    for (const status of ["idle", "occupied", "occupied", "idle"] as const) await pollBoth(status);
    expect(messages()).toEqual(["incident.firing", "incident.resolved"]);
  });

  it("that are not committed change nothing of it, and the next one notifies", async () => {
    const { pools, commits, poll, messages } = openPools();
    const idle = [poll(0, "idle"), poll(1, "occupied")];
    commits.forEach(({ end }) => end());
    await Promise.all(idle);
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
});
