import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { HistoryContext } from "../../src/api/context.ts";
import { createApi } from "../../src/api/operation.ts";
import { computeInsights, type InsightsRequest } from "../../src/api/operations/insights.ts";
import type { ReportSources } from "../../src/reports/sources.ts";
import { recordHistory, type SeenServer } from "../support/recorded-history.ts";
import { moves, play } from "./support/random-history.ts";
import { tell as tellReport } from "./support/tell.ts";

const minuteMs = 60_000;
const hourMs = 60 * minuteMs;
const dayMs = 24 * hourMs;
/** A Monday. */
const startMs = Date.UTC(2026, 9, 5);
const research = { region: "us", key: "research" };

function insightsOf(request: InsightsRequest, reports: ReportSources, atMs: number) {
  const clock = { now: () => ({ utcMs: atMs, monotonicMs: 0 }), setTimer: () => () => {} };
  return createApi<HistoryContext>({ reports, clock })(computeInsights, request);
}

/** Polls every ten minutes for some weeks. */
function watch(weeks: number, seenAt: (atMs: number, week: number) => readonly SeenServer[]) {
  const history = recordHistory();
  const target = history.add(research);
  const endMs = startMs + weeks * 7 * dayMs;
  for (let atMs = startMs; atMs <= endMs; atMs += 10 * minuteMs) {
    const week = Math.floor((atMs - startMs) / (7 * dayMs));
    target.poll(atMs, { kind: "all", servers: seenAt(atMs, week) });
  }
  return {
    history,
    target,
    endMs,
    tell: (request: InsightsRequest = {}) => insightsOf(request, history, endMs),
  };
}

const hourOf = (atMs: number): number => new Date(atMs).getUTCHours();
const dayOf = (atMs: number): number => new Date(atMs).getUTCDay();

describe("the busiest hour of the week", () => {
  const busyOnTuesday = (atMs: number): readonly SeenServer[] => [
    { id: "a", status: dayOf(atMs) === 2 && hourOf(atMs) === 14 ? "occupied" : "idle" },
    { id: "b", status: "idle" },
  ];

  it("is the one with the largest occupied share, by the clocks of the zone", async () => {
    const { tell } = watch(2, busyOnTuesday);
    expect((await tell()).busiest_hour).toMatchObject({
      weekday: "Tue",
      hour: 14,
      occupied_share: 0.5,
      weeks: 2,
    });
    const inBerlin = await tell({ tz: "Europe/Berlin" });
    expect(inBerlin.busiest_hour).toMatchObject({ weekday: "Tue", hour: 16 });
  });

  it("is not told before every hour of a week was watched", async () => {
    const { tell } = watch(0.9, busyOnTuesday);
    expect((await tell()).busiest_hour).toBeNull();
  });
});

it("names whose servers were all in use are told with for how long", async () => {
  const { tell } = watch(1, (atMs) => [
    { id: "a", name: "git", status: dayOf(atMs) === 3 && hourOf(atMs) < 2 ? "occupied" : "idle" },
    { id: "b", name: "jira", status: "idle" },
  ]);
  expect((await tell()).ran_out).toEqual([
    { region: "us", key: "research", server_name: "git", exhausted_seconds: 7_200, hours: 2 },
  ]);
});

it("servers that erred are told by how often and by how long", async () => {
  const { tell } = watch(1, (atMs) => {
    const minutes = Math.floor((atMs - startMs) / minuteMs);
    const often = minutes % 60 === 30 && minutes < 600;
    const long = minutes >= 1_000 && minutes < 2_000;
    return [
      { id: "often", status: often ? "error" : "idle" },
      { id: "long", status: long ? "error" : "idle" },
      { id: "never", status: "idle" },
    ];
  });
  const told = await tell();
  const named = (servers: typeof told.erred_longest) =>
    servers.map(({ server_id: id, errors, error_seconds: seconds }) => [id, errors, seconds]);
  expect(named(told.erred_most_often)).toEqual([
    ["often", 10, 6_000],
    ["long", 1, 60_000],
  ]);
  expect(named(told.erred_longest)).toEqual([
    ["long", 1, 60_000],
    ["often", 10, 6_000],
  ]);
});

describe("for how long a server was in error", () => {
  const stuck: SeenServer = { id: "stuck", name: "git", status: "error" };

  it("is told also where it was in error all the time, and still is", async () => {
    const { tell, endMs } = watch(1, () => [stuck]);
    const from = new Date(endMs - dayMs).toISOString();
    expect((await tell({ from })).erred_longest).toMatchObject([
      { server_id: "stuck", errors: 0, error_seconds: 86_400 },
    ]);
  });

  it("leaves out what nobody watched, and nothing else", async () => {
    const { history, target, endMs } = watch(0, () => [{ ...stuck, status: "idle" }]);
    const kinds = ["all", "all", "failed", "all", "all"] as const;
    for (const [hour, kind] of kinds.entries()) {
      target.poll(endMs + (hour + 1) * hourMs, { kind, servers: [stuck] });
    }
    target.poll(endMs + 6 * hourMs, { kind: "all", servers: [{ ...stuck, status: "idle" }] });
    const { erred_longest: longest } = await insightsOf({}, history, endMs + 7 * hourMs);
    expect(longest).toMatchObject([{ errors: 1, error_seconds: 3 * 3_600 }]);
  });

  it("is what a report by server has of it, whatever happened", async () => {
    await fc.assert(
      fc.asyncProperty(moves, fc.nat(100), fc.nat(100), async (moved, first, second) => {
        const { history, endMs } = play(moved, startMs);
        const at = (percent: number): string =>
          new Date(Math.floor(startMs + ((endMs - startMs) * percent) / 100)).toISOString();
        const [from, to] = [at(Math.min(first, second)), at(Math.max(first, second))];
        if (from >= to) return;
        const told = await insightsOf({ from, to, region: "us" }, history, endMs);
        const asked = { from, to, by: "server", now: at(100), filter: { region: ["us"] } };
        const { rows } = await tellReport(history, asked);
        const expected = rows
          .filter(({ ms }) => ms.error > 0)
          .map(({ group, ms }) => [group.region, group.key, group.server, ms.error / 1_000]);
        const found = told.erred_longest.map((server) => [
          server.region,
          server.key,
          server.server_id,
          server.error_seconds,
        ]);
        expect(found.toSorted(byText)).toEqual(expected.toSorted(byText));
      }),
      { numRuns: 100 },
    );
  });

  const byText = (one: readonly unknown[], other: readonly unknown[]): number =>
    String(one) < String(other) ? -1 : 1;
});

describe("a server that is occupied", () => {
  const shortStays = (atMs: number): SeenServer => {
    const minutes = Math.floor((atMs - startMs) / minuteMs);
    return { id: "short", name: "git", status: minutes % 60 === 0 ? "occupied" : "idle" };
  };

  it("for longer than 95 of 100 stays of its name is told", async () => {
    const { tell, endMs } = watch(1, (atMs) => [
      shortStays(atMs),
      { id: "stuck", name: "git", status: atMs < startMs + 6 * dayMs ? "idle" : "occupied" },
      { id: "other", name: "jira", status: "occupied" },
    ]);
    const { occupied_long: long } = await tell();
    expect(long).toMatchObject([
      { server_id: "stuck", exact: true, occupied_seconds: (endMs - startMs) / 1_000 - 6 * 86_400 },
    ]);
    // All took ten minutes: the histogram tells that they are between these two bounds.
    expect(long[0]?.usual_seconds).toBeGreaterThan(300);
    expect(long[0]?.usual_seconds).toBeLessThanOrEqual(900);
  });

  it("since before it was watched is told with at least how long", async () => {
    const { tell } = watch(1, (atMs) => [
      shortStays(atMs),
      { id: "stuck", name: "git", status: "occupied" },
    ]);
    expect((await tell()).occupied_long).toMatchObject([{ server_id: "stuck", exact: false }]);
  });

  it("is not told where too few stays are known to say what is usual", async () => {
    const { tell } = watch(1, (atMs) => [
      { id: "once", name: "git", status: atMs === startMs + dayMs ? "occupied" : "idle" },
      { id: "stuck", name: "git", status: "occupied" },
    ]);
    expect((await tell()).occupied_long).toEqual([]);
  });
});

describe("the forecast", () => {
  /** Ten servers, of which one more is occupied in each week. */
  const rising = (_: number, week: number): readonly SeenServer[] =>
    Array.from({ length: 10 }, (_each, index) => ({
      id: `s${index}`,
      status: index <= week ? "occupied" : "idle",
    }));

  it("says when the share passes the threshold", async () => {
    const { tell, endMs } = watch(5, rising);
    const { forecast } = await tell({ threshold: "0.75" });
    expect(forecast).toMatchObject({ reason: null, threshold: 0.75 });
    const inDays = (Date.parse(forecast.passes_at ?? "") - endMs) / dayMs;
    expect(inDays).toBeGreaterThan(13);
    expect(inDays).toBeLessThan(15);
  });

  it("is none where a week was hardly watched", async () => {
    const { history, target, endMs } = watch(5, rising);
    target.poll(endMs + 2 * dayMs, { kind: "failed" });
    target.poll(endMs + 7 * dayMs, { kind: "failed" });
    const { forecast } = await insightsOf({}, history, endMs + 7 * dayMs);
    expect(forecast).toMatchObject({ passes_at: null, reason: "too_little" });
  });
});

it("an hour that has begun before the range is told of as a whole", async () => {
  const { tell, endMs } = watch(1, () => [{ id: "a", name: "git", status: "occupied" }]);
  const from = new Date(endMs - 30 * minuteMs).toISOString();
  expect((await tell({ from })).ran_out).toMatchObject([{ exhausted_seconds: 3_600, hours: 1 }]);
});

it("what cannot be asked is refused with what can", async () => {
  const { tell } = watch(0, () => []);
  await expect(tell({ threshold: "2" })).rejects.toThrow("a share above 0 and up to 1");
  await expect(tell({ from: "nonsense" })).rejects.toThrow("from: a time such as");
  await expect(tell({ from: "2030-01-01", to: "2031-01-01" })).rejects.toThrow("not begun yet");
});
