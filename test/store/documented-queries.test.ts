import { readFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { expect, it, onTestFinished } from "vitest";
import type { HistoryContext } from "../../src/api/context.ts";
import { createApi } from "../../src/api/operation.ts";
import { computeInsights } from "../../src/api/operations/insights.ts";
import { reportOccupancy } from "../../src/api/operations/occupancy.ts";
import { makeHistory } from "../../src/cli/demo-history.ts";
import { configuredTargets } from "../../src/config/configured-targets.ts";
import { storedSources } from "../../src/reports/report-sources.ts";
import { tempoOf } from "../../src/simulator/server-status.ts";
import { createWorld, variedManners } from "../../src/simulator/world.ts";
import { openStore } from "../../src/store/store.ts";
import { addTarget } from "../support/add-target.ts";
import { judgeBy, listing, research, serverError, startMs, watchFleet } from "../support/fleet.ts";
import { createFakeClock } from "../support/fake-clock.ts";
import { freshStoreFile } from "../support/fresh-store.ts";
import { tempFolder } from "../support/temp-folder.ts";
import { testConfig } from "../support/test-config.ts";

const text = readFileSync(join(import.meta.dirname, "../../docs/history.md"), "utf8");

/** The statements of a section's examples, by the line before each. */
function examplesOf(title: string): ReadonlyMap<string, string> {
  const section = text.split("\n## ").find((each) => each.startsWith(title)) ?? "";
  return new Map(
    Array.from(
      section.matchAll(/^(.+):\n\n```sh\nsqlite3 -\w+ \S+ "([^"]+)"\n```$/gm),
      ([, what = "", statement = ""]) => [what, statement],
    ),
  );
}

const examples = examplesOf("Query it yourself");

const hourMs = 3_600_000;

/** A store of a day: half an hour idle, half an hour occupied, in error, and again. `startMs` is the day's 9:30. */
async function storedDay(): Promise<string> {
  const path = freshStoreFile();
  const store = openStore(path, undefined, { isTemporary: true });
  const { id } = await addTarget(store, research);
  const { poll } = watchFleet(research, { judge: judgeBy([serverError]) });
  for (const [a, seconds] of [
    ["idle", 0],
    ["occupied", 1_800],
    ["error", 1_800],
    ["idle", 1_800],
  ] as const) {
    await store.commitPoll(id, poll(listing({ a, b: "idle" }), seconds));
  }
  // What is asked for is of a day that is over.
  await store.commitPoll(id, poll(listing({ a: "idle", b: "idle" }), 86_400));
  await store.commitPoll(id, poll("failed", 86_400));
  while (await store.rollUp());
  await store.close();
  return path;
}

function rowsOf(path: string, what: string): readonly object[] {
  const statement = examples.get(what);
  if (statement === undefined) throw new Error(`docs/history.md has no example "${what}"`);
  // As if the day after the stored one were today.
  return runAt(path, statement, startMs + 24 * hourMs);
}

function runAt(path: string, statement: string, nowMs: number): readonly Record<string, unknown>[] {
  using database = new DatabaseSync(path, { readOnly: true });
  const today = statement.replaceAll("'now'", `'${new Date(nowMs).toISOString()}'`);
  return database
    .prepare(today)
    .all()
    .map((row) => ({ ...row }));
}

it("each documented query answers what it says, of a real store", async () => {
  const path = await storedDay();
  expect(rowsOf(path, "Servers by status now")).toEqual([
    { region: "us", key: "research", status: "idle", count: 2 },
  ]);
  const changes = rowsOf(path, "What changed yesterday").map((row) => Object.values(row).join(" "));
  expect(changes).toEqual([
    "2026-11-20 09:30:00 us box a github absent idle",
    "2026-11-20 09:30:00 us box b github absent idle",
    "2026-11-20 10:00:00 us box a github idle occupied",
    "2026-11-20 10:30:00 us box a github occupied error",
    "2026-11-20 11:00:00 us box a github error idle",
  ]);
  expect(rowsOf(path, "Hours of servers by name yesterday")).toEqual([
    { name: "github", idle: 28, occupied: 0.5, error: 0.5, unobserved: 0 },
  ]);
  const incidents = rowsOf(path, "Incidents of the last seven days").map(Object.values);
  expect(incidents).toEqual([
    ["2026-11-20 10:30:00", "server-error", "critical", "resolved", "us", "a", 30],
  ]);
  const notified = "Incidents of the last seven days that the receiver `oncall` was notified of";
  expect(rowsOf(path, notified).map(Object.values)).toEqual([
    ["2026-11-20 10:30:00", "server-error", "critical", "resolved", "us", "a"],
  ]);
  expect([...examples.keys()]).toHaveLength(5);
});

/** A demo's history of two days, which is rolled up. */
async function demoStore(nowMs: number) {
  const url = "http://127.0.0.1:1";
  const config = testConfig({
    regions: { us: { base_url: url }, eu: { base_url: url } },
    keys: [{ name: "research", api_key: "simulated" }],
    store: { path: join(tempFolder(), "sandwatch.db") },
  });
  const world = createWorld(1, tempoOf(1 / 8), undefined, variedManners);
  const past = { config, seed: 1, world, servers: 12, days: 2 };
  await makeHistory(past, new AbortController().signal, createFakeClock(nowMs));
  const store = openStore(config.store.path);
  onTestFinished(() => store.close());
  const reports = storedSources(store, configuredTargets(config));
  const clock = { now: () => ({ utcMs: nowMs, monotonicMs: 0 }), setTimer: () => () => {} };
  return { path: config.store.path, api: createApi<HistoryContext>({ reports, clock }) };
}

it("the figures of reports of a demo are those that the documented statements compute from raw rows", async () => {
  const nowMs = Date.UTC(2026, 10, 20, 9, 31, 7);
  const { path, api } = await demoStore(nowMs);
  const statements = [...examplesOf("Recompute a figure").values()];
  const [shares = [], pools = []] = statements.map((each) => runAt(path, each, nowMs));
  expect(statements).toHaveLength(2);

  const { rows: all } = await api(reportOccupancy, { from: "yesterday", by: "" });
  const found = new Map(shares.map(({ status, share }) => [status, share]));
  for (const status of ["idle", "occupied", "error"] as const) {
    expect(found.get(status)).toBeCloseTo(Number(all[0]?.[`${status}_share`]), 6);
  }
  expect(all[0]?.coverage).toBeLessThan(1);

  const by = "region,key,server_name";
  const { rows } = await api(reportOccupancy, { from: "yesterday", by });
  const nameOf = (row: object) => Object.values(row).slice(0, 3).join(" ");
  const peaks = pools.map((row) => `${nameOf(row)} ${String(row["occupied_peak"])}`);
  expect(peaks).toEqual(
    rows
      .map((row) => `${row.region} ${row.key} ${row.server_name} ${row.occupied_peak}`)
      .toSorted(),
  );
  const { ran_out: ranOut } = await api(computeInsights, { from: "yesterday" });
  const exhausted = pools.map((row) => `${nameOf(row)} ${String(row["exhausted_seconds"])}`);
  expect(exhausted).toEqual(
    expect.arrayContaining(
      ranOut.map(
        (each) => `${each.region} ${each.key} ${each.server_name} ${each.exhausted_seconds}`,
      ),
    ),
  );
  expect(ranOut.length).toBeGreaterThan(2);
});
