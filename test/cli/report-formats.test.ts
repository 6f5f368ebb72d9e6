import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { csvOf, jsonOf } from "../../src/cli/report/json-csv.ts";
import type { StreamedReport, Texts } from "../../src/cli/report/json-csv.ts";
import { bar, durationText, shareText } from "../../src/reports/quantities.ts";
import { tableOf } from "../../src/cli/report/table.ts";
import type { Terminal } from "../../src/cli/terminal.ts";
import { textWidth } from "../../src/cli/table.ts";
import { noDwells } from "../../src/fleet/dwell.ts";
import { viewRow } from "../../src/api/operations/occupancy.ts";
import type { ReportRow } from "../../src/reports/report-rows.ts";
import { collect } from "../support/collect.ts";
import type { RowView } from "../../src/api/operations/occupancy.ts";

function row(group: Partial<RowView>, more: Partial<ReportRow> = {}): RowView {
  const figures = viewRow({
    group: {},
    ms: { idle: 1_800_000, occupied: 5_400_000, error: 3_600, unknown: 0 },
    unobservedMs: 0,
    isObserved: true,
    occupiedAverage: 1.5,
    occupiedPeak: { count: 2, isExact: false },
    serversAverage: 2,
    serversPeak: 4,
    dwells: noDwells,
    dwellsMs: [],
    incidents: 1,
    recoveries: { count: 1, leastMs: 5_000, mostMs: 65_000 },
    ...more,
  });
  return { ...figures, ...group };
}

function reportOf(
  by: StreamedReport["by"],
  groups: readonly Partial<RowView>[],
  tz = "UTC",
): StreamedReport {
  async function* rows(): AsyncIterable<RowView> {
    yield* groups.map((group) => row(group));
  }
  const [from, to] = ["2026-11-01T00:00:00.000Z", "2026-11-08T00:00:00.000Z"];
  return { from, to, tz, by, notes: [], coverageNotes: async () => [], rows: rows() };
}

async function join(texts: Texts): Promise<string> {
  return (await collect(texts)).join("");
}

const table = (report: StreamedReport, screen: Partial<Terminal> = {}): Promise<string> =>
  join(tableOf(report, { out() {}, err() {}, isInteractive: true, isUnicode: true, ...screen }));

const formulas = ["=1+1", "+1", "-1", "@sum", "＝1+1", "\ttab", "\n=1+1"];

it.each([
  ...formulas.map((name) => [name, `"'${name}"`]),
  [" =1+1", `"' =1+1"`],
  ["\u00a0\u200b\ufeff=1+1", `"'\u00a0\u200b\ufeff=1+1"`],
  ["x;=1+1", `"x;'=1+1"`],
  ["x; =1+1;+2", `"x;' =1+1;'+2"`],
  ["x\t@sum|-1", `"x\t'@sum|'-1"`],
  ['x;"=1+1;', `"x;'""=1+1;"`],
  ["x\r\n=1+1", `"x\r\n'=1+1"`],
  ["x;y", '"x;y"'],
  ["x=1-y", "x=1-y"],
  ["a,b", '"a,b"'],
  ['say "hi"', '"say ""hi"""'],
  ["two\r\nlines", '"two\r\nlines"'],
])("in CSV the name %j is the field %s", async (server_name, field) => {
  const report = reportOf(["server_name"], [{ server_name, occupied_share: null }]);
  const text = await join(csvOf(report));
  expect(text).toMatch(/^server_name,occupied_share,idle_share,/);
  expect(text).toContain(`\r\n${field},,0.2`);
});

it("shares are of observed time, rounded to six digits, and seconds exact", () => {
  const ms = { idle: 2_000_001, occupied: 1_000_000, error: 0, unknown: 0 };
  const figures = { ms, unobservedMs: 6_000_002, isObserved: true };
  expect(row({}, figures)).toMatchObject({
    occupied_share: 0.333333,
    idle_share: 0.666667,
    unobserved_share: 0.666667,
    coverage: 0.333333,
    idle_seconds: 2_000.001,
    unobserved_seconds: 6_000.002,
  });
  const none = { ms: { ...ms, idle: 0, occupied: 0 }, unobservedMs: 1, isObserved: false };
  const shares = { occupied_share: null, error_share: null, unobserved_share: 1, coverage: 0 };
  expect(row({}, none)).toMatchObject(shares);
});

it.each([0, 1, 3])("a report as JSON is complete with %i rows", async (count) => {
  const key = "a\u202eb\u2028";
  const groups = Array.from({ length: count }, () => ({ key }));
  const text = await join(jsonOf(reportOf(["key"], groups)));
  expect(JSON.parse(text)).toMatchObject({ by: ["key"], rows: groups.map((group) => row(group)) });
  expect(text).not.toMatch(/[\p{Cf}\u2028]/u);
});

describe("a report as a table", () => {
  it("has the most important columns that fit, and times of the zone", async () => {
    const rows = [
      { region: "us", key: "research" },
      { region: "eu", key: "ops" },
    ];
    const wide = await table(reportOf(["region", "key"], rows, "Europe/Berlin"));
    expect(wide.split("\n").slice(0, 3)).toEqual([
      "2026-11-01T01:00+01:00 to 2026-11-08T01:00+01:00, Europe/Berlin",
      "region  key       occupied            unobserved   error    idle    avg    peak  servers  headroom  incid.   stays   median      p95  in error  unknown     mean   recover",
      "us      research  ████████     75.0%        0.0%   <0.1%   25.0%   1.50      ≤2     2.00        ≥2       1       0        -        -      3.6s     0.0%        -     ≤1m5s",
    ]);
    const narrow = await table(reportOf(["region", "key"], rows), { columns: 80 });
    expect(narrow.split("\n")[1]).toBe(
      "region  key       occupied            unobserved   error    idle    avg    peak",
    );
  });

  it("cuts no label while all fit into two thirds of the screen, and then the longest", async () => {
    const labels = { region: "eu", key: "ops", server_name: "github", hour: "2026-11-01T01:00Z" };
    const by = ["region", "key", "server_name", "hour"] as const;
    const [line] = (await table(reportOf(by, [labels]), { columns: 80 })).split("\n").slice(2);
    expect(line).toMatch(/^eu {6}ops {2}github {2}2026-11-01T01:00Z {2}█/);
    const long = { ...labels, server_name: "a".repeat(60) };
    const [cut] = (await table(reportOf(by, [long]), { columns: 80 })).split("\n").slice(2);
    expect(cut).toMatch(/^eu {6}ops {2}a{20}… {2}2026-11-01T01:00Z {2}█/);
  });

  it("shortens UUIDs on a screen, and no other ids, which may all begin alike", async () => {
    const ids = ["3f2a0c1e-5b7d-4e0a-9c55-2d1f7a6b8c90", "instance-1", "instance-2", "7"];
    const rows = ids.map((server) => ({ server }));
    const shown = async (columns?: number) => {
      const text = await table(reportOf(["server"], rows), { columns });
      return text
        .split("\n")
        .slice(2, -1)
        .map((line) => line.split(" ")[0]);
    };
    expect(await shown(80)).toEqual(["3f2a0c1e", ...ids.slice(1)]);
    expect(await shown()).toEqual(ids);
  });

  it("is ASCII where the screen shows no more", async () => {
    const report = reportOf(["server_name"], [{ server_name: "沙箱 é" }]);
    const text = await table(report, { isUnicode: false, isColored: true });
    expect(text).toMatch(/^[\n\x20-\x7e]*$/);
    expect(text).not.toContain("[1m");
    expect(text).toContain("???? ?");
    expect(text).toContain("########..");
    expect(text).toContain("<=2");
  });

  it("has no line that is wider than the screen, and no more lines than rows", async () => {
    const hostile = fc.constantFrom(...formulas, "a,b", 'say "hi"', "two\r\nlines", "it's", "");
    const name = fc.oneof(fc.string({ unit: "binary", maxLength: 80 }), hostile);
    const names = fc.array(fc.record({ key: name, server_name: name }), { minLength: 1 });
    await fc.assert(
      fc.asyncProperty(names, fc.integer({ min: 40, max: 200 }), async (rows, columns) => {
        const text = await table(reportOf(["key", "server_name", "day"], rows), { columns });
        const lines = text.split("\n").slice(0, -1);
        expect(lines).toHaveLength(rows.length + 2);
        expect(Math.max(...lines.map(textWidth))).toBeLessThanOrEqual(columns);
        expect(text).not.toMatch(/[^\n\P{Cc}]/u);
      }),
    );
  });
});

it("durations have two units, and shares that are almost 0 or 1 do not look like 0 or 1", () => {
  const seconds = [0, 9.94, 9.96, 65, 7_260, 100_000, 86_400 * 123.9];
  const texts = ["0s", "9.9s", "10s", "1m5s", "2h1m", "1d3h", "123d21h"];
  expect(seconds.map(durationText)).toEqual(texts);
  expect([0, 0.00001, 0.99999, 1].map(shareText)).toEqual(["0.0%", "<0.1%", ">99.9%", "100.0%"]);
  expect([0, 0.0001, 1].map((share) => bar(share, 4, true))).toEqual(["    ", "█   ", "████"]);
  expect(bar(0.5, 4, false)).toBe("##..");
});
