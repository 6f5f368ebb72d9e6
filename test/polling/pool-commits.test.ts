import { expect, it } from "vitest";
import type { Verdict } from "../../src/core/judge.ts";
import { createPoolWatch } from "../../src/core/pool-watch.ts";
import type { PoolRule } from "../../src/core/rule.ts";
import { createPoolCommits } from "../../src/polling/pool-commits.ts";
import { judgeBy, listing, watchFleet } from "../support/fleet.ts";

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

const one = { region: "us", key: "one" };
const other = { region: "us", key: "other" };

function openPools() {
  const judge = judgeBy([rule]);
  const pools = createPoolWatch({
    rules: [rule],
    targets: [one, other],
    openIncidents: [],
    clocks: [],
  });
  const commits: { readonly verdict: Verdict; readonly end: () => void; fail: () => void }[] = [];
  const commit = (_: number, verdict: Verdict): Promise<void> =>
    new Promise((resolve, reject) => {
      commits.push({ verdict, end: resolve, fail: () => reject(new Error("disk full")) });
    });
  const fleets = [one, other].map((target, index) => watchFleet(target, { judge, id: index + 1 }));
  const commitWithPools = createPoolCommits({ pools, judge, commit });
  const poll = (index: number, status: "idle" | "occupied"): Promise<Verdict> => {
    const fleet = fleets[index];
    if (!fleet) throw new RangeError("there are two targets");
    return commitWithPools(fleet.watched, fleet.poll(listing({ a: status })));
  };
  return { pools, commits, poll };
}

it("lets two polls that end together open an incident of their pool only once", async () => {
  const { commits, poll } = openPools();
  const idle = [poll(0, "idle"), poll(1, "idle")];
  commits.forEach(({ end }) => end());
  await Promise.all(idle);
  const firstFull = poll(0, "occupied");
  commits.at(-1)?.end();
  await firstFull;
  const both = [poll(1, "occupied"), poll(0, "occupied")];
  for (let count = 0; count < 4; count += 1) {
    commits.forEach(({ end }) => end());
    await new Promise(setImmediate);
  }
  const opened = (await Promise.all(both)).flatMap(({ pools }) => pools?.incidents.outbox ?? []);
  expect(opened.map(({ type }) => type)).toEqual(["incident.firing"]);
});

it("takes nothing on of a poll that was not committed, and tells it with the next one", async () => {
  const { pools, commits, poll } = openPools();
  const idle = [poll(0, "idle"), poll(1, "occupied")];
  commits.forEach(({ end }) => end());
  await Promise.all(idle);

  const lost = poll(0, "occupied");
  await new Promise(setImmediate);
  commits.at(-1)?.fail();
  await expect(lost).rejects.toThrow("disk full");
  expect(pools.incidents.size).toBe(0);

  const kept = poll(0, "occupied");
  await new Promise(setImmediate);
  commits.at(-1)?.end();
  expect((await kept).pools?.incidents.outbox).toHaveLength(1);
  expect(pools.incidents.size).toBe(1);
});
