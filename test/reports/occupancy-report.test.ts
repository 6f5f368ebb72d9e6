import { describe, expect, it } from "vitest";
import { serverMsOf } from "../../src/fleet/buckets.ts";
import { meanDwellMs } from "../../src/fleet/dwell.ts";
import { sharesOf, type ReportRow } from "../../src/reports/row.ts";
import { recordHistory } from "../support/recorded-history.ts";
import { idle, occupied, research, watch } from "./support/polls-alike.ts";
import { tell } from "./support/tell.ts";

const hourMs = 3_600_000;

function hoursOf(row: ReportRow): number {
  return serverMsOf(row) / hourMs;
}

describe("a report", () => {
  it("tells what was recorded, how many there were, and their dwell times", async () => {
    const history = recordHistory();
    const target = history.add(research);
    watch(target, { from: "2026-11-01T00:00Z", to: "2026-11-01T06:00Z" });
    watch(target, { from: "2026-11-01T06:05Z", to: "2026-11-01T12:00Z" }, [
      { ...occupied, status: "idle" },
      { ...idle, status: "occupied" },
      { id: "c", name: "jira", status: "occupied" },
    ]);
    watch(target, { from: "2026-11-01T12:05Z", to: "2026-11-01T13:00Z" }, [
      { ...occupied, status: "error" },
      idle,
    ]);
    const range = { from: "2026-11-01T00:00Z", to: "2026-11-01T12:00Z" };
    const [row, ...others] = (await tell(history, { ...range, by: "region,key" })).rows;
    expect(others).toEqual([]);
    expect(row).toMatchObject({
      group: research,
      isObserved: true,
      occupiedPeak: { count: 2, isExact: true },
    });
    const latter = 12 - 6 - 5 / 60;
    expect(row?.occupiedAverage).toBeCloseTo((6 + 5 / 60 + 2 * latter) / 12);
    const names = (await tell(history, { ...range, by: "server_name" })).rows;
    expect(names.map(({ group, occupiedPeak }) => [group.server_name, occupiedPeak])).toEqual([
      ["git", { count: 1, isExact: true }],
      ["jira", { count: 1, isExact: true }],
    ]);
    const later = { from: "2026-11-01T12:00Z", to: "2026-11-01T13:00Z", by: "region" };
    const [last] = (await tell(history, later)).rows;
    // Of its dwell times only the one is known from end to end that began after the first poll.
    expect(last && meanDwellMs(last.dwells)).toBe(6 * hourMs);
  });

  it("counts incidents by when they fired, and recoveries by when they came", async () => {
    const history = recordHistory();
    watch(history.add(research), { from: "2026-11-01T00:00Z", to: "2026-11-02T00:00Z" });
    const at = (time: string): number => Date.parse(`2026-11-01T${time}Z`);
    const span = { target: research, sandboxId: "", serverId: "a", serverName: "git" };
    history.spans.push(
      { ...span, startedAtMs: at("01:00"), firedAtMs: at("01:10"), recoveredAtMs: at("03:00") },
      { ...span, startedAtMs: at("03:30"), firedAtMs: at("03:30"), recoveredAtMs: null },
      { ...span, startedAtMs: at("03:40"), firedAtMs: null, recoveredAtMs: at("03:50") },
    );
    const told = await tell(history, {
      from: "2026-11-01T01:00Z",
      to: "2026-11-01T04:00Z",
      by: "hour,server_name",
    });
    expect(told.rows.map(({ incidents, recoveries }) => [incidents, recoveries])).toEqual([
      [1, { count: 0, ms: 0 }],
      [0, { count: 0, ms: 0 }],
      [1, { count: 1, ms: 2 * hourMs }],
    ]);
  });

  it("adds up what several targets had at most in the same buckets, and says so", async () => {
    const history = recordHistory();
    const range = { from: "2026-11-01T00:00Z", to: "2026-11-02T00:00Z" };
    watch(history.add(research), range);
    watch(history.add({ region: "eu", key: "research" }), range);
    const [row] = (await tell(history, { ...range, by: "key" })).rows;
    expect(row).toMatchObject({ occupiedAverage: 2, occupiedPeak: { count: 2, isExact: false } });
  });

  it("has a row for each hour and day, also of those of which nothing is known", async () => {
    const history = recordHistory();
    watch(history.add(research), { from: "2026-11-01T12:00Z", to: "2026-11-01T13:00Z" });
    const range = { from: "2026-10-31T22:00Z", to: "2026-11-02T00:00Z" };
    const { rows } = await tell(history, { ...range, by: "day" });
    expect(rows.map(({ group }) => group.day)).toEqual(["2026-10-31", "2026-11-01"]);
    expect(rows.map(sharesOf)).toMatchObject([
      { unobserved: 1, idle: 0 },
      { unobserved: expect.closeTo(23 / 24), idle: expect.closeTo(0.5 / 24) },
    ]);
    const hours = await tell(history, { ...range, by: "hour" });
    expect(hours.rows.map(hoursOf)).toEqual(Array.from({ length: 26 }, () => 2));
  });

  it("tells of a range before the history began that nothing of it was observed", async () => {
    const history = recordHistory();
    watch(history.add(research), { from: "2026-11-01T12:00Z", to: "2026-11-01T13:00Z" });
    const range = { from: "2026-10-01T00:00Z", to: "2026-10-08T00:00Z" };
    const { rows } = await tell(history, { ...range, now: "2026-11-01T13:00Z", by: "region" });
    expect(rows.map(sharesOf)).toEqual([
      { idle: 0, occupied: 0, error: 0, unknown: 0, unobserved: 1 },
    ]);
    expect(rows).toMatchObject([{ occupiedAverage: null, occupiedPeak: null }]);
  });

  it("does not hold against a target that it is going to be polled in a moment", async () => {
    const history = recordHistory();
    watch(history.add(research), { from: "2026-11-01T00:00Z", to: "2026-11-01T02:00Z" });
    const asked = { from: "2026-11-01T00:00Z", by: "region" };
    const soon = await tell(history, { ...asked, to: "2026-11-01T02:04Z" });
    expect(soon.rows.map(sharesOf)).toMatchObject([{ idle: 0.5, unobserved: 0 }]);
    const late = await tell(history, { ...asked, to: "2026-11-01T04:00Z" });
    expect(late.rows.map(sharesOf)).toMatchObject([{ idle: 0.25, unobserved: 0.5 }]);
  });

  it("leaves out what the configuration has no more, from its last poll on", async () => {
    const history = recordHistory();
    const target = history.add(research);
    watch(target, { from: "2026-11-01T00:00Z", to: "2026-11-01T12:00Z" });
    target.isConfigured = false;
    const asked = { to: "2026-11-03T00:00Z", by: "region" };
    const { rows } = await tell(history, { ...asked, from: "2026-11-01T00:00Z" });
    expect(rows.map(sharesOf)).toMatchObject([{ idle: 0.5, unobserved: 0 }]);
    const after = await tell(history, { ...asked, from: "2026-11-02T00:00Z" });
    expect(after.rows).toEqual([]);
    expect(after.report.notes).toEqual(["No target matches."]);
    const before = await tell(history, {
      from: "2026-10-30T00:00Z",
      to: "2026-11-01T00:00Z",
      by: "region",
    });
    expect(before.rows).toEqual([]);
  });

  it("says of a target without servers neither that they were idle nor unobserved", async () => {
    const history = recordHistory();
    const range = { from: "2026-11-01T00:00Z", to: "2026-11-01T12:00Z" };
    watch(history.add(research), range, []);
    const { rows } = await tell(history, { ...range, by: "region" });
    expect(rows.map(sharesOf)).toEqual([null]);
    expect(rows).toMatchObject([{ occupiedAverage: 0, occupiedPeak: { count: 0 } }]);
  });

  it("refuses a range that has not begun, and ends one that is not over", async () => {
    const history = recordHistory();
    watch(history.add(research), { from: "2026-11-01T00:00Z", to: "2026-11-01T02:00Z" });
    const now = "2026-11-01T02:00Z";
    const to = "2026-12-01T00:00Z";
    const later = tell(history, { from: "2026-11-01T02:00Z", to, now, by: "region" });
    await expect(later).rejects.toThrow("The range has not begun yet.");
    const told = await tell(history, { from: "2026-11-01T00:00Z", to, now, by: "day" });
    expect(told.rows.map(hoursOf)).toEqual([4]);
    expect(told.report.notes).toEqual([expect.stringContaining("ends in the future")]);
  });
});

describe("a day of a zone", () => {
  it.each([
    ["Europe/Berlin", "2026-03-28T23:00Z", "2026-03-29T22:00Z", "2026-03-29", 23],
    ["Europe/Berlin", "2026-10-24T22:00Z", "2026-10-25T23:00Z", "2026-10-25", 25],
    ["America/New_York", "2026-03-08T05:00Z", "2026-03-09T04:00Z", "2026-03-08", 23],
    ["America/New_York", "2026-11-01T04:00Z", "2026-11-02T05:00Z", "2026-11-01", 25],
    ["Asia/Kolkata", "2028-02-28T18:30Z", "2028-02-29T18:30Z", "2028-02-29", 24],
    ["Asia/Kathmandu", "2028-02-28T18:15Z", "2028-02-29T18:15Z", "2028-02-29", 24],
    ["UTC", "2028-02-29T00:00Z", "2028-03-01T00:00Z", "2028-02-29", 24],
  ])("in %s from %s to %s is %s, of %i hours", async (tz, from, to, day, hours) => {
    const history = recordHistory();
    const lead = new Date(Date.parse(from) - 30 * hourMs).toISOString();
    const end = new Date(Date.parse(to) + 30 * hourMs).toISOString();
    watch(history.add(research), { from: lead, to: end }, [occupied]);
    const asked = { from: lead, to: end, tz };
    const days = await tell(history, { ...asked, by: "day" });
    expect(days.rows.map(({ group }) => group.day)).toContain(day);
    const row = days.rows.find(({ group }) => group.day === day);
    expect(row && [hoursOf(row), sharesOf(row)?.occupied]).toEqual([hours, 1]);
    expect(days.report.notes).toEqual([]);

    const both = await tell(history, { ...asked, by: "hour,day" });
    const ofDay = both.rows.filter(({ group }) => group.day === day);
    expect(ofDay.map(hoursOf)).toEqual(Array.from({ length: hours }, () => 1));
    expect(new Set(ofDay.map(({ group }) => group.hour)).size).toBe(hours);
  });

  it("tells its two equal hours apart", async () => {
    const history = recordHistory();
    const range = { from: "2026-10-24T23:00Z", to: "2026-10-25T03:00Z" };
    watch(history.add(research), range);
    const { rows } = await tell(history, { ...range, by: "hour,weekday", tz: "Europe/Berlin" });
    expect(rows.map(({ group }) => `${group.weekday} ${group.hour}`)).toEqual([
      "Sun 2026-10-25T01:00+02:00",
      "Sun 2026-10-25T02:00+02:00",
      "Sun 2026-10-25T02:00+01:00",
      "Sun 2026-10-25T03:00+01:00",
    ]);
  });

  it("is of its weekday, of which there is one row, Monday first", async () => {
    const history = recordHistory();
    const range = { from: "2026-11-01T00:00Z", to: "2026-11-11T00:00Z" };
    watch(history.add(research), range, [occupied]);
    const { rows } = await tell(history, { ...range, by: "weekday" });
    expect(rows.map((row) => [row.group.weekday, hoursOf(row)])).toEqual([
      ["Mon", 48],
      ["Tue", 48],
      ["Wed", 24],
      ["Thu", 24],
      ["Fri", 24],
      ["Sat", 24],
      ["Sun", 48],
    ]);
  });
});

describe("what was removed from the history", () => {
  async function pruned(by: string, tz?: string) {
    const history = recordHistory();
    const target = history.add(research);
    watch(target, { from: "2026-11-01T00:00Z", to: "2026-11-09T00:00Z" }, [occupied]);
    target.prune("5m", Date.parse("2026-11-07T00:00Z"));
    target.prune("1h", Date.parse("2026-11-04T00:00Z"));
    const range = { from: "2026-11-01T00:00Z", to: "2026-11-09T00:00Z" };
    return tell(history, { ...range, by, ...(tz !== undefined && { tz }) });
  }

  it("is not missed where something coarser will do", async () => {
    const { rows, report } = await pruned("day");
    expect(rows.map((row) => [hoursOf(row), sharesOf(row)?.occupied])).toEqual(
      Array.from({ length: 8 }, () => [24, 1]),
    );
    expect(report.notes).toEqual([]);
  });

  it("counts as unobserved where nothing else tells, and the report says from when on it is", async () => {
    const { rows, report } = await pruned("hour");
    const lost = rows.filter((row) => sharesOf(row)?.unobserved === 1);
    expect([rows.length, lost.length, new Set(rows.map(hoursOf))]).toEqual([192, 72, new Set([1])]);
    expect(report.notes).toEqual([
      "Hours are kept since 2026-11-04T00:00Z: earlier time counts as unobserved.",
    ]);
  });

  it("is in the day or hour that it begins in where clocks are not whole hours apart", async () => {
    const days = await pruned("day", "Asia/Kolkata");
    expect(days.rows.map(hoursOf)).toEqual([24, 24, 24, 19, 24, 24, 23.5, 24, 5.5]);
    expect(days.report.notes).toEqual([expect.stringContaining("in which it starts")]);
  });

  it("widens a range to what there is, and says to what", async () => {
    const history = recordHistory();
    const target = history.add(research);
    watch(target, { from: "2026-11-01T00:00Z", to: "2026-11-09T00:00Z" }, [occupied]);
    target.prune("5m", Date.parse("2026-11-07T00:00Z"));
    const now = "2026-11-09T00:00Z";
    const range = { from: "2026-11-01T10:20Z", to: "2026-11-07T10:20:30Z", now, by: "region" };
    const { rows, report } = await tell(history, range);
    expect(rows.map(hoursOf)).toEqual([24 * 6 + 25 / 60]);
    expect(report.notes).toEqual([
      "No finer buckets are kept for that time: the report covers 2026-11-01T10:00Z to 2026-11-07T10:25Z.",
    ]);
  });
});
