import { expect, it } from "vitest";
import type { RegionRule } from "../../src/alerts/rule.ts";
import { restoreSuppressions } from "../../src/api/suppressions.ts";
import { createCommitLoop } from "../../src/polling/commit-loop.ts";
import { createRegionWatch } from "../../src/polling/region-watch.ts";
import { createStore } from "../../src/store/store.ts";
import { addTarget } from "../support/add-target.ts";
import { captureLog } from "../support/capture-log.ts";
import { createFakeClock } from "../support/fake-clock.ts";
import { judgeBy, listing, startMs, targetDown, watchFleet } from "../support/fleet.ts";
import { openFresh } from "../support/fresh-store.ts";

const { trouble: __, ...base } = targetDown;
const regionDown: RegionRule = {
  ...base,
  name: "region-down",
  on: "region",
  for: { kind: "polls", polls: 2 },
};
const targets = ["one", "other"].map((key) => ({ region: "eu", key }));

it("a region that fails as a whole is known to be down, also after a restart, until it is up again or not configured", async () => {
  const { kysely, close } = openFresh();
  const store = createStore(kysely, close);
  const clock = createFakeClock(startMs);
  const { log, lines } = captureLog();
  const judge = judgeBy([regionDown]);
  const open = async (configured = targets) => {
    const suppressions = await restoreSuppressions(store, [], clock);
    const down = () => suppressions.at(clock.now().utcMs).regionsDown;
    const regions = createRegionWatch({
      targets: configured,
      store: store.regions,
      judge,
      suppressions,
      commits: createCommitLoop(log),
      intervalMs: 30_000,
      clock,
      log,
    });
    return { ...regions, down };
  };
  const fleets = await Promise.all(
    targets.map(async (target) => {
      const { id } = await addTarget(store, target);
      return { id, ...watchFleet(target, { judge, id }) };
    }),
  );
  const regions = await open();
  await regions.restore();
  const poll = async (outcome: Parameters<(typeof fleets)[0]["poll"]>[0]) => {
    clock.advance(30_000);
    for (const each of fleets) await store.commitPoll(each.id, each.poll(outcome));
    regions.wake("eu");
    clock.advance(1_000);
    await regions.runOnce();
  };
  for (const _ of [1, 2]) await poll("failed");
  expect(regions.down().get("eu")).toMatchObject([{ rule: "region-down" }]);
  const next = await open();
  await next.restore();
  expect(next.down()).toEqual(regions.down());
  await next.stop();
  await poll(listing({ a: "idle" }));
  expect(regions.down().get("eu")).toEqual([]);
  expect(lines.map(({ event }) => event)).toEqual(["incident.fired", "incident.resolved"]);
  for (const _ of [1, 2]) await poll("failed");
  await regions.stop();
  const without = await open([]);
  await without.restore();
  expect(lines.slice(2)).toMatchObject([
    { event: "incident.fired" },
    { event: "incident.resolved", region: "eu", reason: "rule_removed" },
  ]);
  await without.stop();
});
