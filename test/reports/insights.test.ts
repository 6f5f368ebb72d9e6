import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { ListedServer } from "../support/recorded-history.ts";
import { moves, play } from "./support/random-history.ts";
import { reportOf as reportRows } from "./support/report.ts";
import { dayOf, hourOf, insightsOf, startMs, watch } from "./support/watched-weeks.ts";

const minuteMs = 60_000;
const dayMs = 24 * 60 * minuteMs;

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
      { numRuns: 12 },
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

it("a request that is not valid is refused with what is", async () => {
  const { ask } = watch(0, () => []);
  await expect(ask({ threshold: "2" })).rejects.toThrow("a share above 0 and up to 1");
  await expect(ask({ from: "nonsense" })).rejects.toThrow("from: a time such as");
  await expect(ask({ from: "2030-01-01", to: "2031-01-01" })).rejects.toThrow("not begun yet");
});
