import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { statuses } from "../../src/fleet/model.ts";
import { readSeries } from "../../src/reports/occupancy-series.ts";
import type { ReportSources } from "../../src/reports/report-sources.ts";
import { openZone, utc } from "../../src/reports/zone.ts";
import { recordHistory } from "../support/recorded-history.ts";
import { idle, occupied, research, watch } from "./support/polls-alike.ts";
import { moves, play } from "./support/random-history.ts";
import { addUp, reportOf } from "./support/report.ts";

const minuteMs = 60_000;
const hourMs = 60 * minuteMs;

interface Asked {
  readonly from: string;
  readonly to: string;
  readonly now?: string;
  readonly names?: readonly string[];
  readonly stepMs?: number;
  readonly tz?: string;
}

function seriesOf(
  sources: ReportSources,
  asked: Asked,
): Promise<Awaited<ReturnType<typeof readSeries>>> {
  const { from, to, now = to, names = [], stepMs = null, tz = "UTC" } = asked;
  const range = { fromMs: Date.parse(from), toMs: Date.parse(to) };
  const query = {
    of: "servers",
    range,
    zone: openZone(tz) ?? utc,
    filter: {},
    nowMs: Date.parse(now),
    names,
    stepMs,
  } as const;
  return readSeries(query, sources);
}

const day = { from: "2026-11-01T00:00Z", to: "2026-11-02T00:00Z" };

describe("a series of occupancy", () => {
  it("adds up to the report of the same range", async () => {
    const startMs = Date.parse("2026-11-01T00:00Z");
    await fc.assert(
      fc.asyncProperty(moves, fc.constantFrom(5, 15, 60, 1_440), async (moved, minutes) => {
        const { history, endMs } = play(moved, startMs);
        const range = { from: new Date(startMs).toISOString(), to: new Date(endMs).toISOString() };
        const { rows } = await reportOf(history, { ...range, by: "" });
        const { cells } = await seriesOf(history, { ...range, stepMs: minutes * minuteMs });
        const sum = (valueOf: (cell: (typeof cells)[number]) => number): number =>
          cells.reduce((total, each) => total + valueOf(each) * (each.toMs - each.fromMs), 0);
        const all = addUp(rows);
        for (const status of statuses) {
          expect(sum(({ average }) => average[status])).toBeCloseTo(all[status] ?? 0, 1);
        }
        expect(sum(({ unobserved }) => unobserved)).toBeCloseTo(all["unobserved"] ?? 0, 1);
      }),
      { numRuns: 8 },
    );
  });

  it("has cells of the coarsest resolution that shows a course, and at most 400", async () => {
    const history = recordHistory();
    watch(history.add(research), { from: "2026-08-01T00:00Z", to: "2026-08-01T01:00Z" });
    const to = "2026-11-02T00:00Z";
    const stepOf = async (hours: number) => {
      const from = new Date(Date.parse(to) - hours * hourMs).toISOString();
      const { stepMs, cells } = await seriesOf(history, { from, to });
      return [stepMs / minuteMs, cells.length];
    };
    expect(await stepOf(6)).toEqual([5, 72]);
    expect(await stepOf(24)).toEqual([5, 288]);
    expect(await stepOf(48)).toEqual([10, 288]);
    expect(await stepOf(7 * 24)).toEqual([60, 168]);
    expect(await stepOf(30 * 24)).toEqual([120, 360]);
    expect(await stepOf(90 * 24)).toEqual([1_440, 90]);
    expect(await stepOf(1_000 * 24)).toEqual([3 * 1_440, 334]);
  });

  it("has fewer cells of many targets, whose finer buckets take long to read", async () => {
    const history = recordHistory();
    for (let number = 0; number < 700; number += 1) {
      const target = history.add({ region: "us", key: `key-${number}` });
      target.poll(Date.parse("2026-11-01T23:59Z"), { kind: "all", servers: [occupied] });
    }
    const { stepMs, cells } = await seriesOf(history, day);
    expect([stepMs, cells.length]).toEqual([hourMs, 24]);
  });

  it("takes coarser cells where finer buckets are no longer kept", async () => {
    const history = recordHistory();
    const target = history.add(research);
    watch(target, { from: "2026-11-01T00:00Z", to: "2026-11-03T00:00Z" });
    target.prune("changes", Date.parse("2026-11-02T00:00Z"));
    const { stepMs, cells } = await seriesOf(history, day);
    expect([stepMs, cells.length]).toEqual([hourMs, 24]);
    expect(cells[3]).toMatchObject({ average: { occupied: 1, idle: 1 }, unobserved: 0 });
  });

  it("clips the first and the last cell to the range", async () => {
    const history = recordHistory();
    watch(history.add(research), day);
    const range = { from: "2026-11-01T10:40Z", to: "2026-11-01T13:10Z" };
    const { cells } = await seriesOf(history, { ...range, stepMs: hourMs });
    expect(cells.map(({ fromMs, toMs }) => (toMs - fromMs) / minuteMs)).toEqual([20, 60, 60, 10]);
    for (const { average } of cells) expect(average).toMatchObject({ occupied: 1, idle: 1 });
  });

  it.each([
    ["Asia/Kolkata", "2026-11-01T00:00Z"],
    ["Australia/Eucla", "2026-11-01T00:00Z"],
    ["America/St_Johns", "2026-11-01T00:00Z"],
    // Its clocks are set back by half an hour within the range, and forward.
    ["Australia/Lord_Howe", "2026-04-04T13:00Z"],
    ["Australia/Lord_Howe", "2026-10-03T15:00Z"],
  ])(
    "has the hours of %s, whose clocks are not whole hours from UTC, from %s",
    async (tz, from) => {
      const history = recordHistory();
      const target = history.add(research);
      const after = (minutes: number): string =>
        new Date(Date.parse(from) + minutes * minuteMs).toISOString();
      const range = { from, to: after(360) };
      watch(target, { from, to: after(90) }, [occupied]);
      watch(target, { from: after(95), to: range.to }, [{ ...occupied, status: "idle" }]);
      const { cells } = await seriesOf(history, { ...range, stepMs: hourMs, tz });
      const { rows } = await reportOf(history, { ...range, by: "hour", tz });
      const hours = rows.map(({ occupiedAverage }) => occupiedAverage ?? 0);
      expect(cells.map(({ average }) => average.occupied)).toEqual(
        hours.map((hour) => expect.closeTo(hour, 6)),
      );
      expect(hours.filter((hour) => hour > 0 && hour < 1)).toHaveLength(1);
    },
  );

  it("shows unobserved time, which is no time in any status", async () => {
    const history = recordHistory();
    const target = history.add(research);
    watch(target, { from: "2026-11-01T00:00Z", to: "2026-11-01T06:00Z" });
    target.restart();
    watch(target, { from: "2026-11-01T12:00Z", to: "2026-11-02T00:00Z" });
    const { cells } = await seriesOf(history, { ...day, stepMs: hourMs });
    expect(cells[5]).toMatchObject({ average: { occupied: 1, idle: 1 }, unobserved: 0 });
    expect(cells[8]).toMatchObject({ average: { occupied: 0, idle: 0 }, unobserved: 2 });
    expect(cells[12]).toMatchObject({ average: { occupied: 1, idle: 1 }, unobserved: 0 });
  });

  it("is of the servers of some names", async () => {
    const history = recordHistory();
    watch(history.add(research), day, [occupied, idle, { id: "c", name: "jira", status: "error" }]);
    const namesOf = async (...names: readonly string[]) => {
      const { cells } = await seriesOf(history, { ...day, names });
      return cells[50]?.average;
    };
    expect(await namesOf("git")).toMatchObject({ occupied: 1, idle: 1, error: 0 });
    expect(await namesOf("jira", "none")).toMatchObject({ occupied: 0, idle: 0, error: 1 });
    expect(await namesOf()).toMatchObject({ occupied: 1, idle: 1, error: 1 });
  });

  it("goes on when one of its targets is not configured any more", async () => {
    const history = recordHistory();
    watch(history.add(research), day);
    const former = history.add({ region: "eu", key: "research" });
    watch(former, { ...day, to: "2026-11-01T06:00Z" });
    former.isConfigured = false;
    const { cells, range } = await seriesOf(history, { ...day, stepMs: hourMs });
    expect(new Date(range.toMs).toISOString()).toBe("2026-11-02T00:00:00.000Z");
    expect(cells).toHaveLength(24);
    expect(cells[3]?.average).toMatchObject({ occupied: 2, idle: 2 });
    expect(cells.at(-1)?.average).toMatchObject({ occupied: 1, idle: 1 });
  });

  it("ends with the earliest of the last polls, so that no target seems to have lost its servers", async () => {
    const history = recordHistory();
    watch(history.add(research), { from: day.from, to: "2026-11-01T23:55Z" });
    const later = history.add({ region: "eu", key: "research" });
    watch(later, { from: day.from, to: "2026-11-01T23:55Z" });
    later.poll(Date.parse("2026-11-01T23:58Z"), { kind: "all", servers: [occupied, idle] });
    const { cells, range } = await seriesOf(history, { ...day, now: "2026-11-01T23:59Z" });
    expect(new Date(range.toMs).toISOString()).toBe("2026-11-01T23:55:00.000Z");
    expect(cells.at(-1)?.average).toMatchObject({ occupied: 2, idle: 2 });

    // Within a cell each target counts over the time up to its own last poll.
    const first = await seriesOf(history, { ...day, stepMs: hourMs, now: "2026-11-01T23:59Z" });
    expect(first.cells.at(-1)?.average.occupied).toBeCloseTo(2);
  });
});
