import { expect, it, onTestFinished } from "vitest";
import type { HistoryContext } from "../../src/api/context.ts";
import { createApi } from "../../src/api/operation.ts";
import { computeInsights } from "../../src/api/operations/insights.ts";
import { computeOutlook } from "../../src/api/operations/outlook.ts";
import type { Status } from "../../src/fleet/model.ts";
import { storedSources } from "../../src/reports/report-sources.ts";
import { createStore } from "../../src/store/store.ts";
import { addTarget } from "../support/add-target.ts";
import { research, server, startMs, watchFleet } from "../support/fleet.ts";
import { openFresh } from "../support/fresh-store.ts";

const hourMs = 3_600_000;
const hours = 5 * 7 * 24;

/**
 * Five weeks of two sandboxes, both of which are occupied for two hours a day and one of which is in error for the hour
 * after that. Their servers are idle, have tags, and two benchmarks.
 */
async function recorded() {
  const { kysely, close } = openFresh();
  onTestFinished(close);
  const store = createStore(kysely, close);
  const { id } = await addTarget(store, research);
  const { poll } = watchFleet();
  for (let hour = 0; hour <= hours; hour += 1) {
    const statusOf = (box: string): Status => {
      if (hour % 24 === 12 || hour % 24 === 13) return "occupied";
      return box === "one" && hour % 24 === 14 ? "error" : "idle";
    };
    const sandboxes = ["one", "two"].map((box) => ({
      id: box,
      status: statusOf(box),
      benchmark: "swe",
      createdAt: null,
      servers: [server(`${box} a`, { status: "idle", benchmark: box, tags: ["x", box] })],
    }));
    await store.commitPoll(id, poll({ complete: true, sandboxes }, hour === 0 ? 0 : 3_600));
  }
  const nowMs = startMs + hours * hourMs;
  const clock = { now: () => ({ utcMs: nowMs, monotonicMs: 0 }), setTimer: () => () => {} };
  return createApi<HistoryContext>({ reports: storedSources(store, [research]), clock });
}

it("insights and outlooks of sandboxes are of what these state, by benchmark", async () => {
  const api = await recorded();
  const found = await api(computeInsights, { of: "sandboxes", from: "14d" });
  expect(found).toMatchObject({
    of: "sandboxes",
    answer:
      "swe in us/research already runs out: for 14h of the last week none of its 2 sandboxes was idle.",
    busiest_hour: { occupied_share: 1, weeks: 2 },
    ran_out: [{ ...research, benchmark: "swe", exhausted_seconds: 14 * 7_200 }],
    erred_most_often: [
      {
        sandbox_id: "one",
        server_id: null,
        server_name: null,
        errors: 14,
        error_seconds: 14 * 3_600,
      },
    ],
    forecasts: [{ ...research, benchmark: "swe", servers: 2, peak: 2, exact: true }],
  });
  expect(found.erred_longest).toHaveLength(1);
  const { pools } = await api(computeOutlook, { of: "sandboxes", from: "14d", by: "region" });
  expect(pools).toMatchObject([{ region: "us", no_idle_seconds: 14 * 7_200 }]);
  const byName = api(computeOutlook, { of: "sandboxes", by: "region,server_name" });
  await expect(byName).rejects.toThrow(/benchmark and .* not server_name/);
});

it("outlooks of servers are by benchmark or tag, and one with several tags is in the pool of each", async () => {
  const api = await recorded();
  const by = async (fields: string) => {
    const { pools, all } = await api(computeOutlook, { by: fields, from: "14d" });
    const lines = pools.map(({ tag, benchmark, servers }) => `${tag ?? benchmark} ${servers}`);
    return [...lines.toSorted(), `all ${all.servers}`];
  };
  expect(await by("benchmark")).toEqual(["one 1", "two 1", "all 2"]);
  expect(await by("key,tag")).toEqual(["one 1", "two 1", "x 2", "all 2"]);
});
