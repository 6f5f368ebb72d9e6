import { createCommitLoop } from "../../src/polling/commit-loop.ts";
import { expect, it } from "vitest";
import { noSuppressions } from "../../src/alerts/silence.ts";
import { beginStoreUpkeep } from "../../src/app/store-upkeep.ts";
import { createUpkeep } from "../../src/app/upkeep.ts";
import { createStore } from "../../src/store/store.ts";
import { addTarget } from "../support/add-target.ts";
import { captureLog } from "../support/capture-log.ts";
import { createFakeClock } from "../support/fake-clock.ts";
import { judgeBy, listing, research, startMs, watchFleet } from "../support/fleet.ts";
import { openFresh } from "../support/fresh-store.ts";
import { testConfig } from "../support/test-config.ts";

it("what is not configured any more is ended before anything is polled", async () => {
  const { kysely, close } = openFresh();
  const store = createStore(kysely, close);
  const { id } = await addTarget(store, research);
  await store.commitPoll(id, watchFleet(research).poll(listing({ a: "error" })));
  const clock = createFakeClock(startMs + 60_000);
  const { log } = captureLog();
  const forgotten: string[] = [];
  await beginStoreUpkeep({
    config: testConfig({
      regions: { us: { base_url: "https://us.example.com" } },
      keys: [{ name: "other", api_key: "sk-1" }],
    }),
    store,
    upkeep: createUpkeep({ clock, log }),
    judge: judgeBy(),
    suppressions: { at: () => noSuppressions },
    delivery: {
      scheduled: {
        adopt: async () => {},
        forgetOthers: async () => void forgotten.push("reports"),
        chores: [],
      },
    },
    commits: createCommitLoop(log),
    clock,
  });
  const open = (await store.targets.all()).flatMap(({ openIncidents }) => openIncidents);
  expect([open, forgotten]).toEqual([[], ["reports"]]);
});
