import { describe, expect, it, onTestFinished } from "vitest";
import { findServer } from "../../src/fleet/snapshot.ts";
import { countByStatus } from "../../src/fleet/tallies.ts";
import type { Target } from "../../src/fleet/model.ts";
import { createCommitLoop } from "../../src/polling/commit-loop.ts";
import { restoreTargets, retireUnconfigured } from "../../src/polling/restore.ts";
import { openStore } from "../../src/store/store.ts";
import type { Store } from "../../src/store/store.ts";
import {
  judgeBy,
  listing,
  research,
  serverError,
  startMs,
  targetDown,
  watchFleet,
} from "../support/fleet.ts";
import { captureLog } from "../support/capture-log.ts";
import { addTarget } from "../support/add-target.ts";

const evals: Target = { region: "us", key: "evals" };

/** A store in which `research` has one server in error and one idle, and `evals` was never polled. */
async function storeAfterError(): Promise<Store> {
  const store = openStore(":memory:");
  onTestFinished(() => store.close());
  const { id } = await addTarget(store, research);
  await addTarget(store, evals);
  const fleet = watchFleet(research);
  await store.commitPoll(id, fleet.poll(listing({ a: "idle", b: "idle" })));
  await store.commitPoll(id, fleet.poll(listing({ a: "error", b: "idle" })));
  return store;
}

async function restore(
  store: Store,
  configured: readonly Target[],
  { judge = judgeBy(), afterSeconds = 90 } = {},
) {
  const { log, lines } = captureLog();
  const options = {
    judge,
    staleAfter: 3,
    restoredForMs: 90_000,
    nowUtcMs: startMs + afterSeconds * 1_000,
    commits: createCommitLoop(log),
  };
  const watched = await restoreTargets(store, configured, options);
  await retireUnconfigured(store, configured, [], options);
  return { watched, retired: lines };
}

describe("the configured targets", () => {
  it("come back in their order as they were last committed", async () => {
    const store = await storeAfterError();
    const { watched, retired } = await restore(store, [evals, research]);
    expect(watched.map(({ target }) => target)).toEqual([evals, research]);
    const known = watched[1];
    expect(known && findServer(known.state.snapshot, "box", "a")).toMatchObject({
      status: "error",
    });
    expect(known && countByStatus(known.state.snapshot.tallies.servers)).toBe(2);
    expect(known?.state.progress.observed.polls).toBe(2);
    expect([...(known?.state.incidents.values() ?? [])]).toMatchObject([
      { id: "incident-1", phase: { name: "firing" } },
    ]);
    expect(known?.polled).toBe(false);
    expect(retired).toEqual([]);
  });
});

describe("incidents that no rule owns any more", () => {
  it.each([
    ["its rule was removed", [targetDown]],
    ["its rule's condition was changed", [{ ...serverError, status: "unknown" as const }]],
    ["its rule is not about the target any more", [{ ...serverError, match: { key: ["evals"] } }]],
  ])("end, and are notified: %s", async (_, rules) => {
    const store = await storeAfterError();
    const { watched, retired } = await restore(store, [research, evals], {
      judge: judgeBy(rules),
    });
    expect(watched[0]?.state.incidents.size).toBe(0);
    const resolved = { event: "incident.resolved", key: "research", reason: "rule_removed" };
    expect(retired).toMatchObject([{ ...resolved, incident_id: "incident-1" }]);
    const items = await store.outbox.openItems("oncall", 10);
    expect(items.map(({ type }) => type)).toEqual(["incident.firing", "incident.resolved"]);
    const again = await restore(store, [research, evals], { judge: judgeBy(rules) });
    expect(again.retired).toEqual([]);
  });

  it("end with their target, when that is not configured any more", async () => {
    const store = await storeAfterError();
    const { watched, retired } = await restore(store, [evals]);
    expect(watched.map(({ target }) => target)).toEqual([evals]);
    expect(retired).toMatchObject([{ event: "incident.resolved", key: "research" }]);
    const stored = await store.targets.all();
    expect(stored.flatMap(({ openIncidents }) => openIncidents)).toEqual([]);
  });
});

describe("what was last observed", () => {
  it.each([
    ["shown after a short pause", 150, false],
    ["withheld after a long one", 151, true],
  ])("is %s", async (_, afterSeconds, withheld) => {
    const store = await storeAfterError();
    const { watched } = await restore(store, [research, evals], { afterSeconds });
    expect(watched.map((each) => each.withheld)).toEqual([withheld, false]);
  });
});
