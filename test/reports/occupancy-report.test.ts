import { describe, expect, it } from "vitest";
import { serverMsOf } from "../../src/fleet/buckets.ts";
import { meanDwellMs } from "../../src/fleet/dwell.ts";
import { type ReportRow, sharesOf, unobservedShareOf } from "../../src/reports/report-rows.ts";
import { recordHistory } from "../support/recorded-history.ts";
import { idle, occupied, research, watch } from "./support/polls-alike.ts";
import { reportOf } from "./support/report.ts";

const hourMs = 3_600_000;
const inEu = { region: "eu", key: "research" };

/** A history of one target, whose polls in a range all show the same. */
function recorded(range: { from: string; to: string }, servers?: Parameters<typeof watch>[2]) {
  const history = recordHistory();
  const target = history.add(research);
  watch(target, range, servers);
  return { history, target };
}

/** The unobserved share, and the idle share of what was observed. */
function unobservedAndIdle(row: ReportRow): readonly unknown[] {
  return [unobservedShareOf(row), sharesOf(row)?.idle ?? null];
}

function hoursOf(row: ReportRow): number {
  return serverMsOf(row) / hourMs;
}

describe("a report", () => {
  it("has what was recorded, how many there were, and their dwell times", async () => {
    const { history, target } = recorded({ from: "2026-11-01T00:00Z", to: "2026-11-01T06:00Z" });
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
    const { rows } = await reportOf(history, { ...range, by: "region,key" });
    const latter = 12 - 6 - 5 / 60;
    const occupiedAverage = expect.closeTo((6 + 5 / 60 + 2 * latter) / 12);
    expect(rows).toMatchObject([
      { group: research, occupiedPeak: { count: 2, isExact: true }, occupiedAverage },
    ]);
    const names = (await reportOf(history, { ...range, by: "server_name" })).rows;
    expect(names.map(({ group, occupiedPeak }) => [group.server_name, occupiedPeak])).toEqual([
      ["git", { count: 1, isExact: true }],
      ["jira", { count: 1, isExact: true }],
    ]);
    const later = { from: "2026-11-01T12:00Z", to: "2026-11-01T13:00Z", by: "region" };
    const [last] = (await reportOf(history, later)).rows;
    // Of its dwell times only the one is known from end to end that began after the first poll.
    expect(last && meanDwellMs(last.dwells)).toBe(6 * hourMs);
  });

  it("counts incidents by when they fired, and recoveries by when they came", async () => {
    const { history } = recorded({ from: "2026-11-01T00:00Z", to: "2026-11-02T00:00Z" });
    const at = (time: string): number => Date.parse(`2026-11-01T${time}Z`);
    const server = { sandboxId: "", serverId: "a", serverName: "git" };
    const span = { ...research, ...server, benchmark: null, tags: null };
    history.spans.push(
      { ...span, startedAtMs: at("01:00"), firedAtMs: at("01:10"), recoveredAtMs: at("03:00") },
      { ...span, startedAtMs: at("03:30"), firedAtMs: at("03:30"), recoveredAtMs: null },
      { ...span, startedAtMs: at("03:40"), firedAtMs: null, recoveredAtMs: at("03:50") },
    );
    const range = { from: "2026-11-01T01:00Z", to: "2026-11-01T04:00Z" };
    const { rows } = await reportOf(history, { ...range, by: "hour,server_name" });
    expect(rows.map(({ incidents, recoveries }) => [incidents, recoveries])).toEqual([
      [1, { count: 0, leastMs: 0, mostMs: 0 }],
      [0, { count: 0, leastMs: 0, mostMs: 0 }],
      [1, { count: 1, leastMs: 2 * hourMs, mostMs: 2 * hourMs }],
    ]);
  });

  it("averages over each target's own observed time, however long others were observed", async () => {
    const history = recordHistory();
    const from = "2026-11-01T00:00Z";
    watch(history.add(research), { from, to: "2026-11-01T12:00Z" }, [occupied]);
    const two = [occupied, { ...occupied, id: "c" }];
    watch(history.add(inEu), { from, to: "2026-11-01T03:00Z" }, two);
    // Never observed: it has no average, so it adds nothing to that of the others.
    history.add({ region: "ap", key: "research" }).poll(Date.parse(from), { kind: "failed" });
    const averages = async (by: string) =>
      (await reportOf(history, { from, to: "2026-11-01T12:00Z", by })).rows.map((row) => [
        row.group.region ?? row.group.server_name ?? row.group.server,
        row.occupiedAverage,
      ]);
    expect(await averages("region")).toEqual([
      ["ap", null],
      ["eu", 2],
      ["us", 1],
    ]);
    expect(await averages("server_name")).toEqual([["git", 3]]);
    expect(await averages("server")).toEqual([
      ["eu", 1],
      ["eu", 1],
      ["us", 1],
    ]);
  });

  it("has an exact peak where only one target had occupied servers, also of two as high", async () => {
    const history = recordHistory();
    const [us, eu] = [history.add(research), history.add(inEu)];
    const first = { from: "2026-11-01T00:00Z", to: "2026-11-01T02:00Z" };
    const between = { from: "2026-11-01T02:05Z", to: "2026-11-01T03:00Z" };
    const last = { from: "2026-11-01T03:05Z", to: "2026-11-01T05:00Z" };
    const atRest = { ...occupied, status: "idle" } as const;
    for (const target of [us, eu]) {
      watch(target, first, [occupied]);
      watch(target, between, [atRest]);
    }
    watch(us, last, [occupied, { ...occupied, id: "c" }]);
    watch(eu, last, [atRest]);
    const peak = async (range: { from: string; to: string }) =>
      (await reportOf(history, { ...range, by: "weekday,key" })).rows[0]?.occupiedPeak;
    expect(await peak(first)).toEqual({ count: 2, isExact: false });
    expect(await peak({ ...last, from: "2026-11-01T04:00Z" })).toEqual({ count: 2, isExact: true });
    expect(await peak({ ...first, to: last.to })).toEqual({ count: 2, isExact: true });
  });

  it("has a row for each hour and day, also of those of which nothing is known", async () => {
    const { history } = recorded({ from: "2026-11-01T12:00Z", to: "2026-11-01T13:00Z" });
    const range = { from: "2026-10-31T22:00Z", to: "2026-11-02T00:00Z" };
    const { rows } = await reportOf(history, { ...range, by: "day" });
    expect(rows.map(({ group }) => group.day)).toEqual(["2026-10-31", "2026-11-01"]);
    expect(rows.map(unobservedAndIdle)).toEqual([
      [1, null],
      [expect.closeTo(23 / 24), 0.5],
    ]);
    const hours = await reportOf(history, { ...range, by: "hour" });
    expect(hours.rows.map(hoursOf)).toEqual(Array.from({ length: 26 }, () => 2));
    const before = { from: "2026-10-01T00:00Z", to: "2026-10-08T00:00Z", by: "region" };
    const earlier = await reportOf(history, { ...before, now: range.to });
    expect(earlier.rows.map(unobservedAndIdle)).toEqual([[1, null]]);
    expect(earlier.report.notes).toContain("Nothing was observed in this range.");
    expect(earlier.rows).toMatchObject([{ occupiedAverage: null, occupiedPeak: null }]);
  });

  it("has unobserved time after the last poll only where that was long ago", async () => {
    const { history } = recorded({ from: "2026-11-01T00:00Z", to: "2026-11-01T02:00Z" });
    const asked = { from: "2026-11-01T00:00Z", by: "region" };
    const soon = await reportOf(history, { ...asked, to: "2026-11-01T02:04Z" });
    expect(soon.rows.map(unobservedAndIdle)).toEqual([[0, 0.5]]);
    const late = await reportOf(history, { ...asked, to: "2026-11-01T04:00Z" });
    expect(late.rows.map(unobservedAndIdle)).toEqual([[0.5, 0.5]]);
  });

  it("has a target that is no longer configured from its first poll to its last", async () => {
    const { history, target } = recorded({ from: "2026-11-01T00:00Z", to: "2026-11-01T12:00Z" });
    target.isConfigured = false;
    const during = async (from: string, to: string) => {
      const { rows, report } = await reportOf(history, { from, to, by: "region" });
      return [rows.map(unobservedAndIdle), report.notes];
    };
    expect(await during("2026-11-01T00:00Z", "2026-11-03T00:00Z")).toEqual([[[0, 0.5]], []]);
    const none = [[], ["No target matches."]];
    expect(await during("2026-11-02T00:00Z", "2026-11-03T00:00Z")).toEqual(none);
    expect(await during("2026-10-30T00:00Z", "2026-11-01T00:00Z")).toEqual(none);
  });

  it("has no shares of a target without servers", async () => {
    const range = { from: "2026-11-01T00:00Z", to: "2026-11-01T12:00Z" };
    const { history } = recorded(range, []);
    const { rows } = await reportOf(history, { ...range, by: "region" });
    expect(rows.map(unobservedAndIdle)).toEqual([[null, null]]);
    expect(rows).toMatchObject([{ occupiedAverage: 0, occupiedPeak: { count: 0 } }]);
  });

  it.each([
    [20, []],
    [10, [expect.stringContaining("Coverage is 40%, less than 80%")]],
  ])("warns of little coverage, but not with %i hours of 25", async (hours, notes) => {
    const history = recordHistory();
    const [us, eu] = [history.add(research), history.add(inEu)];
    const end = `2026-11-01T${hours}:00Z`;
    for (const target of [us, eu]) watch(target, { from: "2026-11-01T00:00Z", to: end });
    const range = { from: "2026-11-01T00:00Z", to: "2026-11-02T01:00Z" };
    for (const by of ["region", "hour", "server"]) {
      const { report } = await reportOf(history, { ...range, by });
      expect(report.notes).toEqual(notes);
    }
    const { rows } = await reportOf(history, { ...range, by: "day" });
    expect(rows.map((row) => sharesOf(row)?.occupied)).toEqual([0.5, undefined]);
  });

  it("refuses a range that has not begun, and ends one that is not over", async () => {
    const history = recordHistory();
    const now = "2026-11-01T02:00Z";
    watch(history.add(research), { from: "2026-11-01T00:00Z", to: now });
    const asked = { to: "2026-12-01T00:00Z", now, by: "day" };
    const later = reportOf(history, { ...asked, from: now });
    await expect(later).rejects.toThrow("The range has not begun yet.");
    const { rows, report } = await reportOf(history, { ...asked, from: "2026-11-01T00:00Z" });
    expect(rows.map(hoursOf)).toEqual([4]);
    expect(report.notes).toEqual([expect.stringContaining("ends in the future")]);
  });
});

describe("a day of a zone", () => {
  it.each([
    ["Europe/Berlin", "2026-03-28T23:00Z", "2026-03-29T22:00Z", "2026-03-29", 23],
    ["Europe/Berlin", "2026-10-24T22:00Z", "2026-10-25T23:00Z", "2026-10-25", 25],
    ["America/New_York", "2026-11-01T04:00Z", "2026-11-02T05:00Z", "2026-11-01", 25],
    ["Asia/Kathmandu", "2028-02-28T18:15Z", "2028-02-29T18:15Z", "2028-02-29", 24],
    ["UTC", "2028-02-29T00:00Z", "2028-03-01T00:00Z", "2028-02-29", 24],
  ])("in %s from %s to %s is %s, of %i hours", async (tz, from, to, day, hours) => {
    const history = recordHistory();
    const lead = new Date(Date.parse(from) - 30 * hourMs).toISOString();
    const end = new Date(Date.parse(to) + 30 * hourMs).toISOString();
    watch(history.add(research), { from: lead, to: end }, [occupied]);
    const asked = { from: lead, to: end, tz };
    const days = await reportOf(history, { ...asked, by: "day" });
    expect(days.rows.map(({ group }) => group.day)).toContain(day);
    const row = days.rows.find(({ group }) => group.day === day);
    expect(row && [hoursOf(row), sharesOf(row)?.occupied]).toEqual([hours, 1]);
    expect(days.report.notes).toEqual([]);

    const both = await reportOf(history, { ...asked, by: "hour,day" });
    const ofDay = both.rows.filter(({ group }) => group.day === day);
    expect(ofDay.map(hoursOf)).toEqual(Array.from({ length: hours }, () => 1));
    expect(new Set(ofDay.map(({ group }) => group.hour)).size).toBe(hours);
  });

  it("distinguishes its two equal hours", async () => {
    const range = { from: "2026-10-24T23:00Z", to: "2026-10-25T03:00Z" };
    const { history } = recorded(range);
    const { rows } = await reportOf(history, { ...range, by: "hour,weekday", tz: "Europe/Berlin" });
    expect(rows.map(({ group }) => `${group.weekday} ${group.hour}`)).toEqual([
      "Sun 2026-10-25T01:00+02:00",
      "Sun 2026-10-25T02:00+02:00",
      "Sun 2026-10-25T02:00+01:00",
      "Sun 2026-10-25T03:00+01:00",
    ]);
  });

  it("is of its weekday, of which there is one row, Monday first", async () => {
    const range = { from: "2026-11-01T00:00Z", to: "2026-11-11T00:00Z" };
    const { history } = recorded(range, [occupied]);
    const { rows } = await reportOf(history, { ...range, by: "weekday" });
    const days = rows.map((row) => `${row.group.weekday} ${hoursOf(row)}`);
    expect(days.join(", ")).toBe("Mon 48, Tue 48, Wed 24, Thu 24, Fri 24, Sat 24, Sun 48");
  });
});

describe("what was removed from the history", () => {
  const incidentsKept = "Incidents are kept since 2026-11-07T00:00Z: earlier ones are not counted.";

  async function pruned(by: string, tz?: string) {
    const { history, target } = recorded({ from: "2026-11-01T00:00Z", to: "2026-11-09T00:00Z" }, [
      occupied,
    ]);
    target.prune("changes", Date.parse("2026-11-07T00:00Z"));
    target.prune("1h", Date.parse("2026-11-04T00:00Z"));
    const range = { from: "2026-11-01T00:00Z", to: "2026-11-09T00:00Z" };
    return reportOf(history, { ...range, by, ...(tz !== undefined && { tz }) });
  }

  it("is reported where something coarser will do", async () => {
    const { rows, report } = await pruned("day");
    expect(rows.map((row) => [hoursOf(row), sharesOf(row)?.occupied])).toEqual(
      Array.from({ length: 8 }, () => [24, 1]),
    );
    expect(report.notes).toEqual([incidentsKept]);
  });

  it("counts as unobserved where nothing else was kept, and the report says from when on it is", async () => {
    const { rows, report } = await pruned("hour");
    const lost = rows.filter((row) => unobservedShareOf(row) === 1);
    expect([rows.length, lost.length, new Set(rows.map(hoursOf))]).toEqual([192, 72, new Set([1])]);
    expect(report.notes).toEqual([
      "Hours are kept since 2026-11-04T00:00Z: earlier time counts as unobserved.",
      incidentsKept,
      expect.stringContaining("Coverage is 62.5%"),
    ]);
  });

  it("is in the day or hour that it begins in where clocks are not whole hours apart", async () => {
    const days = await pruned("day", "Asia/Kolkata");
    expect(days.rows.map(hoursOf)).toEqual([24, 24, 24, 19, 24, 24, 23.5, 24, 5.5]);
    expect(days.report.notes).toEqual([
      expect.stringContaining("in which it starts"),
      incidentsKept,
    ]);
  });

  it("widens a range to what there is, and says to what", async () => {
    const { history, target } = recorded({ from: "2026-11-01T00:00Z", to: "2026-11-09T00:00Z" }, [
      occupied,
    ]);
    target.prune("changes", Date.parse("2026-11-07T00:00Z"));
    const now = "2026-11-09T00:00Z";
    const range = { from: "2026-11-01T10:20Z", to: "2026-11-07T10:20:30Z", now, by: "region" };
    const { rows, report } = await reportOf(history, range);
    expect(rows.map(hoursOf)).toEqual([24 * 6 + 25 / 60]);
    expect(report.notes).toEqual([
      "Nothing finer is kept for that time: the report covers 2026-11-01T10:00Z to 2026-11-07T10:25Z.",
      incidentsKept,
    ]);
  });
});
