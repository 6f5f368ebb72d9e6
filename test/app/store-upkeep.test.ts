import { expect, it } from "vitest";
import { noSuppressions } from "../../src/alerts/silence.ts";
import { createStoreUpkeep } from "../../src/app/store-upkeep.ts";
import { createUpkeep, upkeepEveryMs } from "../../src/app/upkeep.ts";
import { createStore } from "../../src/store/store.ts";
import { addTarget } from "../support/add-target.ts";
import { captureLog } from "../support/capture-log.ts";
import { createFakeClock } from "../support/fake-clock.ts";
import { judgeBy, listing, research, startMs, watchFleet } from "../support/fleet.ts";
import { openFresh } from "../support/fresh-store.ts";
import { testConfig } from "../support/test-config.ts";

const replica = (configuration: string, expiresAtMs: number) => ({
  id: configuration,
  address: `https://${configuration}`,
  version: "1.0.0",
  configuration,
  generation: 1,
  takesUnits: true,
  startedAtMs: 0,
  expiresAtMs,
});

/** A replica that owns `upkeep`, whose configuration names no target of a store with an incident. */
async function ownUpkeep() {
  const { kysely, close } = openFresh();
  const store = createStore(kysely, close);
  const { id } = await addTarget(store, research);
  await store.commitPoll(id, watchFleet(research).poll(listing({ a: "error" })));
  const clock = createFakeClock(startMs + 60_000);
  const { log } = captureLog();
  const forgotten: string[] = [];
  const view = {
    replica: "new",
    units: ["upkeep"],
    leaseRemainingMs: 5_000,
    cluster: { nowMs: 0, replicas: [replica("new", 9_000), replica("old", 9_000)], units: [] },
  };
  const upkeep = createUpkeep({ clock, log });
  const storeUpkeep = createStoreUpkeep({
    config: testConfig({
      regions: { us: { base_url: "https://us.example.com" } },
      keys: [{ name: "other", api_key: "sk-1" }],
    }),
    store,
    upkeep,
    regions: { retireOthers: async () => void forgotten.push("regions") },
    judge: judgeBy(),
    suppressions: { at: () => noSuppressions },
    ownership: { view: () => view },
    delivery: {
      scheduled: {
        adopt: async () => {},
        forgetOthers: async () => void forgotten.push("reports"),
        chores: [],
      },
      reviewOthers: {
        what: "reviewing receivers",
        step: async () => (forgotten.push("receivers"), false),
      },
    },
    composeAcknowledged: () => [],
    clock,
    log,
  });
  await storeUpkeep.prepare();
  storeUpkeep.begin();
  return {
    forgotten,
    view,
    openIncidents: async () =>
      (await store.targets.all()).flatMap(({ openIncidents }) => openIncidents).length,
    runUpkeep: async () => {
      clock.advance(upkeepEveryMs);
      await upkeep.runOnce();
    },
  };
}

it("what another replica's configuration may name goes on until no replica has another one", async () => {
  const { forgotten, view, openIncidents, runUpkeep } = await ownUpkeep();
  await runUpkeep();
  expect([await openIncidents(), forgotten]).toEqual([1, []]);
  view.cluster.nowMs = 9_000;
  view.cluster.replicas = [replica("new", 10_000), replica("old", 9_000)];
  await runUpkeep();
  expect([await openIncidents(), forgotten.toSorted()]).toEqual([
    0,
    ["receivers", "regions", "reports"],
  ]);
});
