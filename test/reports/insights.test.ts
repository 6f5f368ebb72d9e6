import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { HistoryContext } from "../../src/api/context.ts";
import { createApi } from "../../src/api/operation.ts";
import { computeInsights, type InsightsRequest } from "../../src/api/operations/insights.ts";
import type { ReportSources } from "../../src/reports/report-sources.ts";
import { recordHistory, type ListedServer } from "../support/recorded-history.ts";
import { moves, play } from "./support/random-history.ts";
import { reportOf as reportRows } from "./support/report.ts";

const minuteMs = 60_000;
const dayMs = 24 * 60 * minuteMs;
/** A Monday. */
const startMs = Date.UTC(2026, 9, 5);
const research = { region: "us", key: "research" };

function insightsOf(request: InsightsRequest, reports: ReportSources, atMs: number) {
  const clock = { now: () => ({ utcMs: atMs, monotonicMs: 0 }), setTimer: () => () => {} };
  return createApi<HistoryContext>({ reports, clock })(computeInsights, request);
}

/** Polls every ten minutes for some weeks. */
function watch(weeks: number, serversAt: (atMs: number, week: number) => readonly ListedServer[]) {
  const history = recordHistory();
  const target = history.add(research);
  const endMs = startMs + weeks * 7 * dayMs;
  for (let atMs = startMs; atMs <= endMs; atMs += 10 * minuteMs) {
    const week = Math.floor((atMs - startMs) / (7 * dayMs));
    target.poll(atMs, { kind: "all", servers: serversAt(atMs, week) });
  }
  const ask = (request: InsightsRequest = {}, atMs = endMs) => insightsOf(request, history, atMs);
  return { history, target, endMs, ask };
}

const hourOf = (atMs: number): number => new Date(atMs).getUTCHours();
const dayOf = (atMs: number): number => new Date(atMs).getUTCDay();

it("the busiest hour of the week is the one with the largest occupied share, in the zone", async () => {
  const busyOnTuesday = (atMs: number): readonly ListedServer[] => [
    { id: "a", status: dayOf(atMs) === 2 && hourOf(atMs) === 14 ? "occupied" : "idle" },
    { id: "b", status: "idle" },
  ];
  const { ask } = watch(2, busyOnTuesday);
  const busiest = { weekday: "Tue", hour: 14, occupied_share: 0.5, weeks: 2 };
  expect((await ask()).busiest_hour).toEqual(busiest);
  expect((await ask({ tz: "Europe/Berlin" })).busiest_hour).toEqual({ ...busiest, hour: 16 });
  // Not every hour of a week was observed.
  expect((await watch(0.9, busyOnTuesday).ask()).busiest_hour).toBeNull();
});

it("names without an idle server are listed with for how long, in whole hours of the range", async () => {
  const { ask, endMs } = watch(1, (atMs) => [
    { id: "a", name: "git", status: dayOf(atMs) === 0 && hourOf(atMs) > 21 ? "occupied" : "idle" },
    { id: "b", name: "jira", status: "idle" },
  ]);
  const ranOut = { region: "us", key: "research", server_name: "git" };
  expect((await ask()).ran_out).toEqual([{ ...ranOut, exhausted_seconds: 7_200, hours: 2 }]);
  const at = (minutes: number): string => new Date(endMs - minutes * minuteMs).toISOString();
  const lastHour = [{ exhausted_seconds: 3_600, hours: 1 }];
  expect(await ask({ from: at(30) })).toMatchObject({ from: at(60), to: at(0), ran_out: lastHour });
  const within = await ask({ from: at(50), to: at(10) });
  expect(within).toMatchObject({ from: at(60), to: at(0), ran_out: lastHour });
  expect(within.forecast.observed_seconds).toBe(3_600);
});

it("a range of 36 days or more is widened to whole days, and a shorter one to hours", async () => {
  const { ask, endMs } = watch(6, () => [{ id: "a", name: "git", status: "idle" }]);
  const at = (hours: number): string => new Date(endMs - hours * 60 * minuteMs).toISOString();
  const range = { from: at(39 * 24 + 5), to: at(7) };
  expect(await ask(range)).toMatchObject({ from: at(40 * 24), to: at(0) });
  const shorter = { from: at(36 * 24 + 6.5), to: at(7) };
  expect(await ask(shorter)).toMatchObject({ from: at(36 * 24 + 7), to: at(7) });
});

describe("servers that were in error", () => {
  const stuck: ListedServer = { id: "stuck", name: "git", status: "error" };

  it("are listed by how often and by how long", async () => {
    const { ask } = watch(1, (atMs) => {
      const minutes = Math.floor((atMs - startMs) / minuteMs);
      const often = minutes % 60 === 30 && minutes < 600;
      const long = minutes >= 1_000 && minutes < 2_000;
      return [
        { id: "often", status: often ? "error" : "idle" },
        { id: "long", status: long ? "error" : "idle" },
        { id: "never", status: "idle" },
      ];
    });
    const found = await ask();
    const lines = (servers: typeof found.erred_longest) =>
      servers.map((each) => [each.server_id, each.errors, each.error_seconds]);
    const [often, long] = [
      ["often", 10, 6_000],
      ["long", 1, 60_000],
    ];
    expect(lines(found.erred_most_often)).toEqual([often, long]);
    expect(lines(found.erred_longest)).toEqual([long, often]);
  });

  it("are listed also where they were in error all the time, and still are", async () => {
    const { ask, endMs } = watch(1, () => [stuck]);
    const from = new Date(endMs - dayMs).toISOString();
    expect((await ask({ from })).erred_longest).toMatchObject([
      { server_id: "stuck", errors: 0, error_seconds: 86_400 },
    ]);
  });

  it("have the time that a report by server has, whatever happened", async () => {
    const byText = (one: readonly unknown[], other: readonly unknown[]): number =>
      String(one) < String(other) ? -1 : 1;
    await fc.assert(
      fc.asyncProperty(moves, fc.nat(100), fc.nat(100), async (moved, first, second) => {
        const { history, endMs } = play(moved, startMs);
        const at = (percent: number): string =>
          new Date(Math.floor(startMs + ((endMs - startMs) * percent) / 100)).toISOString();
        const [from, to] = [at(Math.min(first, second)), at(Math.max(first, second))];
        if (from >= to) return;
        const found = await insightsOf({ from, to, region: "us" }, history, endMs);
        const covered = { from: found.from, to: found.to };
        const asked = { ...covered, by: "server", now: at(100), filter: { region: ["us"] } };
        const { rows } = await reportRows(history, asked);
        const expected = rows
          .filter(({ ms }) => ms.error > 0)
          .map(({ group, ms }) => [group.region, group.key, group.server, ms.error / 1_000]);
        const errant = found.erred_longest.map((server) => [
          server.region,
          server.key,
          server.server_id,
          server.error_seconds,
        ]);
        expect(errant.toSorted(byText)).toEqual(expected.toSorted(byText));
      }),
      { numRuns: 30 },
    );
  });
});

it("servers are listed that have been occupied for longer than 95 of 100 of their name", async () => {
  const { ask, endMs } = watch(1, (atMs) => {
    const isFullHour = Math.floor((atMs - startMs) / minuteMs) % 60 === 0;
    const isLastDay = atMs >= startMs + 6 * dayMs;
    return [
      { id: "short", name: "git", status: isFullHour ? "occupied" : "idle" },
      { id: "stuck", name: "git", status: isLastDay ? "occupied" : "idle" },
      { id: "always", name: "git", status: "occupied" },
      // Of these too few dwell times are known to say what is usual.
      { id: "once", name: "jira", status: atMs === startMs + dayMs ? "occupied" : "idle" },
      { id: "other", name: "jira", status: "occupied" },
    ];
  });
  const { occupied_long: long } = await ask();
  expect(long).toMatchObject([
    { server_id: "always", exact: false, occupied_seconds: (endMs - startMs) / 1_000 },
    { server_id: "stuck", exact: true, occupied_seconds: (endMs - startMs) / 1_000 - 6 * 86_400 },
  ]);
  // All took ten minutes: the histogram knows that they are between these two bounds.
  expect(long[0]?.usual_seconds).toBeGreaterThan(300);
  expect(long[0]?.usual_seconds).toBeLessThanOrEqual(900);
});

it("the forecast says when the share passes the threshold, if the weeks were observed", async () => {
  // Ten servers, of which one more is occupied in each week.
  const { ask, target, endMs } = watch(5, (_, week) =>
    Array.from({ length: 10 }, (_each, index) => ({
      id: `s${index}`,
      status: index <= week ? "occupied" : "idle",
    })),
  );
  const { forecast } = await ask({ threshold: "0.75" });
  expect(forecast).toMatchObject({ reason: null, threshold: 0.75, level: 0.5 });
  expect((Date.parse(forecast.passes_at ?? "") - endMs) / dayMs).toBeCloseTo(14, 0);
  target.poll(endMs + 2 * dayMs, { kind: "failed" });
  target.poll(endMs + 7 * dayMs, { kind: "failed" });
  const later = await ask({}, endMs + 7 * dayMs);
  expect(later.forecast).toMatchObject({ passes_at: null, reason: "too_little" });
});

it("a week of which some days have no record is not compared with others", async () => {
  const growing = (_: number, week: number) =>
    Array.from({ length: 10 }, (_each, index) => ({
      id: `s${index}`,
      status: index <= week ? ("occupied" as const) : ("idle" as const),
    }));
  const forecastAfter = async (days: number) => (await watch(days / 7, growing).ask()).forecast;
  // The first of the four weeks that end with these days has three days only.
  expect(await forecastAfter(24)).toMatchObject({ passes_at: null, reason: "too_little" });
  expect(await forecastAfter(28)).toMatchObject({ reason: null });
});

it("each pool has a forecast, the first to reach the threshold first", async () => {
  const growing = (name: string, count: number, week: number) =>
    Array.from({ length: 20 }, (_each, index) => ({
      id: `${name}${index}`,
      name,
      status: index < count * (week + 1) ? ("occupied" as const) : ("idle" as const),
    }));
  const { ask } = watch(5, (_, week) => [
    ...growing("slow", 0.2, week),
    ...growing("steady", 2, week),
    ...growing("full", 4, week),
    ...growing("fast", 3, week),
  ]);
  const { forecasts } = await ask({ threshold: "0.9" });
  expect(forecasts.map(({ server_name: name, level, reason }) => [name, level, reason])).toEqual([
    ["full", 1, "passed_already"],
    ["fast", 0.75, null],
    ["steady", 0.5, null],
    ["slow", 0.05, "no_rise"],
  ]);
  expect(forecasts[1]?.rise_per_week).toBeCloseTo(0.15);
  const byRegion = await ask({ threshold: "0.9", by: "region" });
  expect(byRegion.forecasts).toMatchObject([{ region: "us", level: byRegion.forecast.level }]);
  await expect(ask({ by: "hour" })).rejects.toThrow("of region, key, labels of keys, and one of");
});

describe("when servers run out", () => {
  const names = (atMs: number): readonly ListedServer[] => {
    // On Tuesdays at 14:00 both servers of git are occupied for twenty minutes, on Wednesdays one of them is in error.
    const isFull =
      dayOf(atMs) === 2 && hourOf(atMs) === 14 && atMs % (60 * minuteMs) < 20 * minuteMs;
    const isBroken = dayOf(atMs) === 3 && hourOf(atMs) === 9;
    return [
      { id: "a", name: "git", status: isFull || isBroken ? "occupied" : "idle" },
      { id: "b", name: "git", status: isFull ? "occupied" : isBroken ? "error" : "idle" },
      { id: "c", name: "jira", status: "occupied" },
      { id: "d", name: "jira", status: isFull ? "occupied" : "idle" },
      { id: "e", name: "web", status: "idle" },
      { id: "f", name: "web", status: isFull ? "occupied" : "idle" },
    ];
  };

  it("of each pool it is said how long no server was idle, and when there were the most occupied", async () => {
    const { ask } = watch(5, names);
    const { answer, forecasts } = await ask({ from: "14d" });
    expect(answer).toBe(
      "git in us/research and jira in us/research already run out: at times in the last week none of their servers was idle; no date is known for the other pool.",
    );
    expect(forecasts).toMatchObject([
      {
        server_name: "git",
        answer:
          "git in us/research already runs out: for 1h20m of the last week none of its 2 servers was idle.",
        standing: "full",
        exact: true,
        servers: 2,
        headroom: 0,
        no_idle_seconds: 2 * 4_800,
        no_idle_longest_seconds: 3_600,
        no_idle_longest_at: "2026-10-28T09:00:00.000Z",
        peak: 2,
        peak_at: "2026-10-27T14:00:00.000Z",
        needed_servers: 1,
        needed_more: false,
        peak_level: 1,
        peak_reason: "passed_already",
      },
      { server_name: "jira", standing: "full", no_idle_seconds: 2 * 1_200, needed_servers: 1 },
      {
        server_name: "web",
        standing: "no_date",
        headroom: 1,
        no_idle_seconds: 0,
        needed_servers: 0,
      },
    ]);
  });

  it("of a pool of several targets, times and peaks are upper bounds and said to be; of one target they are exact", async () => {
    const { ask, history, endMs } = watch(5, names);
    const exact = (await ask({ from: "14d", by: "region" })).forecasts;
    // One of web was always idle.
    expect(exact).toMatchObject([{ exact: true, no_idle_seconds: 0, peak: 5, servers: 6 }]);
    const other = history.add({ region: "eu", key: "research" });
    for (let atMs = startMs; atMs <= endMs; atMs += 10 * minuteMs) {
      other.poll(atMs, { kind: "all", servers: names(atMs) });
    }
    const { forecasts } = await ask({ from: "14d", by: "server_name" });
    expect(forecasts).toMatchObject([
      { server_name: "git", standing: "perhaps_full", exact: false, peak: 4, servers: 4 },
      { server_name: "jira" },
      { server_name: "web" },
    ]);
    expect(forecasts[2]?.answer).toContain("at least 2 of 4 servers free");
  });

  it("a name that is gone is no pool any more, and one that is new is unknown", async () => {
    const { ask } = watch(6, (_, week) => [
      { id: "a", name: "git", status: "idle" },
      { id: "b", name: "git", status: "idle" },
      ...(week < 4
        ? ([
            { id: "c", name: "old", status: "idle" },
            { id: "d", name: "old", status: "idle" },
          ] as const)
        : ([
            { id: "e", name: "new", status: "idle" },
            { id: "f", name: "new", status: "idle" },
          ] as const)),
    ]);
    const { forecasts } = await ask();
    expect(forecasts.map(({ server_name: name, standing }) => [name, standing])).toEqual([
      ["git", "no_date"],
      ["new", "unknown"],
    ]);
    expect(forecasts[1]?.answer).toContain("2 whole weeks were observed, and a trend needs 4");
  });
});

it("a request that is not valid is refused with what is", async () => {
  const { ask } = watch(0, () => []);
  await expect(ask({ threshold: "2" })).rejects.toThrow("a share above 0 and up to 1");
  await expect(ask({ from: "nonsense" })).rejects.toThrow("from: a time such as");
  await expect(ask({ from: "2030-01-01", to: "2031-01-01" })).rejects.toThrow("not begun yet");
});
