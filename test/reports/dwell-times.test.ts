import { describe, expect, it } from "vitest";
import { viewRow } from "../../src/api/operations/occupancy.ts";
import { dwellQuantile, dwellsOf } from "../../src/fleet/dwell.ts";
import { dwellBoundsText, dwellOf, dwellText } from "../../src/api/figures.ts";
import { recordHistory } from "../support/recorded-history.ts";
import { reportOf } from "./support/report.ts";

const startMs = Date.UTC(2026, 10, 1);
const minuteMs = 60_000;

/** Two servers of two targets, which are occupied for two hours, and then for 30 minutes again and again. */
function recorded() {
  const history = recordHistory();
  const targets = [
    history.add({ region: "us", key: "a" }),
    history.add({ region: "eu", key: "a" }),
  ];
  for (let minute = 0; minute <= 480; minute += 10) {
    const isLong = minute >= 30 && minute < 150;
    const isOccupied = minute < 180 ? isLong : minute < 420 && minute % 60 >= 30;
    const status = isOccupied ? "occupied" : "idle";
    const servers = [{ id: "one", name: "git", sandbox: "box", status }] as const;
    for (const target of targets)
      target.poll(startMs + minute * minuteMs, { kind: "all", servers });
  }
  return { history, targets };
}

const range = { from: "2026-11-01T00:00Z", to: "2026-11-01T08:00Z" };

function dwellsIn(row: Parameters<typeof viewRow>[0]) {
  const view = viewRow(row);
  const median = dwellOf(view, "median");
  const p95 = dwellOf(view, "p95");
  return [view.stays, dwellText(median, true), dwellBoundsText(median), dwellText(p95, true)];
}

describe("dwell times", () => {
  const single = [5, "30m", null, "2h"];
  const both = [10, "30m", null, "2h"];
  const hours = [2, "30m", null, "30m"];
  it.each([
    ...["region", "server", "sandbox"].map((by) => [by, [single, single]] as const),
    ...["server_name", "day", "month,key", ""].map((by) => [by, [both]] as const),
    ["hour_of_day", [[2, "2h", null, "2h"], hours, hours, hours, hours]] as const,
  ])("by %j are exact while changes are kept", async (by, expected) => {
    const { rows } = await reportOf(recorded().history, { ...range, by });
    expect(rows.map(dwellsIn).filter(([count]) => count !== 0)).toEqual(expected);
  });

  it("have bounds, and a sign that they are about that long, where only a histogram is left", async () => {
    const { history, targets } = recorded();
    targets[0]?.prune("changes", startMs + 24 * 60 * minuteMs);
    const { rows } = await reportOf(history, { ...range, by: "" });
    expect(rows.map(dwellsIn)).toEqual([
      [10, expect.stringMatching(/^≈2\dm/), "15m to 30m", "≈1h45m"],
    ]);
    const view = rows.map(viewRow)[0];
    expect(view).toMatchObject({
      stay_median_least_seconds: 900,
      stay_median_most_seconds: 1_800,
      stay_p95_least_seconds: 3_600,
      stay_p95_most_seconds: 7_200,
    });
    const ascii = rows.map((row) => dwellText(dwellOf(viewRow(row), "p95"), false));
    expect(ascii).toEqual(["~1h45m"]);
  });

  it("over all bounds of the histogram have no upper one", () => {
    const longMs = 9 * 24 * 60 * minuteMs;
    const long = dwellQuantile(dwellsOf([longMs]), 0.5);
    expect(long).toEqual({ ms: 604_800_000, leastMs: 604_800_000, mostMs: null });
    const exact = { ms: longMs, leastMs: longMs, mostMs: longMs };
    expect(dwellQuantile(dwellsOf([longMs]), 0.5, [longMs])).toEqual(exact);
    expect(dwellBoundsText({ seconds: 604_800, least: 604_800, most: null })).toBe("over 7d");
  });

  it("are not taken for exact where some are not known", () => {
    const all = [1, 2, 3].map((minutes) => minutes * minuteMs);
    expect(dwellQuantile(dwellsOf(all), 0.5, all)?.ms).toBe(2 * minuteMs);
    const some = dwellQuantile(dwellsOf(all), 0.5, all.slice(1));
    expect(some?.leastMs).toBeLessThan(some?.mostMs ?? 0);
    expect(dwellQuantile(dwellsOf([]), 0.5, [])).toBeNull();
  });
});
