import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { csvOf, jsonOf } from "../../src/cli/report/json-csv.ts";
import type { StreamedReport, Texts } from "../../src/cli/report/json-csv.ts";
import { bar, durationText, shareText } from "../../src/cli/report/quantities.ts";
import { tableOf } from "../../src/cli/report/table.ts";
import type { Screen } from "../../src/cli/report/table.ts";
import { textWidth } from "../../src/cli/table.ts";
import { noDwells } from "../../src/fleet/dwell.ts";
import { viewRow } from "../../src/api/operations/occupancy.ts";
import { collect } from "../support/collect.ts";
import type { RowView } from "../../src/api/operations/occupancy.ts";

function row(group: Partial<RowView>): RowView {
  const figures = viewRow({
    group: {},
    ms: { idle: 1_800_000, occupied: 5_400_000, error: 3_600, unknown: 0 },
    unobservedMs: 0,
    isObserved: true,
    occupiedAverage: 1.5,
    occupiedPeak: { count: 2, isExact: false },
    dwells: noDwells,
    incidents: 1,
    recoveries: { count: 1, ms: 65_000 },
  });
  return { ...figures, ...group };
}

function reportOf(by: StreamedReport["by"], rows: readonly RowView[], tz = "UTC"): StreamedReport {
  async function* each(): AsyncIterable<RowView> {
    yield* rows;
  }
  const [from, to] = ["2026-11-01T00:00:00.000Z", "2026-11-08T00:00:00.000Z"];
  return { from, to, tz, by, notes: [], rows: each() };
}

async function join(texts: Texts): Promise<string> {
  return (await collect(texts)).join("");
}

const table = (report: StreamedReport, screen: Partial<Screen> = {}): Promise<string> =>
  join(tableOf(report, { isUnicode: true, ...screen }));

const formulas = ["=1+1", "+1", "-1", "@sum", "＝1+1", "\ttab", "\n=1+1"];
const hostile = [...formulas, "a,b", 'say "hi"', "two\r\nlines", "it's", ""];

describe("a report as CSV", () => {
  it.each([
    ...formulas.map((name) => [name, `"'${name}"`]),
    ["a,b", '"a,b"'],
    ['say "hi"', '"say ""hi"""'],
    ["two\r\nlines", '"two\r\nlines"'],
    ["git", "git"],
  ])("has the name %j as the field %s", async (name, field) => {
    const rows = [row({ server_name: name, occupied_share: null })];
    const text = await join(csvOf(reportOf(["server_name"], rows)));
    expect(text).toMatch(/^server_name,occupied_share,idle_share,/);
    expect(text).toContain(`\r\n${field},,0.2`);
  });
});

it.each([0, 1, 3])("a report as JSON is complete with %i rows", async (count) => {
  const rows = Array.from({ length: count }, () => row({ key: "a\u202eb\u2028" }));
  const text = await join(jsonOf(reportOf(["key"], rows)));
  expect(JSON.parse(text)).toMatchObject({ by: ["key"], rows });
  expect(text).not.toMatch(/[\p{Cf}\u2028]/u);
});

describe("a report as a table", () => {
  it("has the most important columns that fit, and times of the zone", async () => {
    const rows = [row({ region: "us", key: "research" }), row({ region: "eu", key: "ops" })];
    const wide = await table(reportOf(["region", "key"], rows, "Europe/Berlin"));
    expect(wide.split("\n").slice(0, 3)).toEqual([
      "2026-11-01T01:00+01:00 to 2026-11-08T01:00+01:00, Europe/Berlin",
      "region  key       occupied             error    idle  unobs.    avg    peak  incid.   stays   median      p95  in error  unknown     mean  recover",
      "us      research  ████████     75.0%   <0.1%   25.0%    0.0%   1.50      ≤2       1       0        -        -      3.6s     0.0%        -     1m5s",
    ]);
    const narrow = await table(reportOf(["region", "key"], rows), { columns: 80 });
    expect(narrow.split("\n")[1]).toBe(
      "region  key       occupied             error    idle  unobs.    avg    peak",
    );
  });

  it("cuts no label while all fit into two thirds of the screen, and then the longest", async () => {
    const labels = { region: "eu", key: "ops", server_name: "github", hour: "2026-11-01T01:00Z" };
    const by = ["region", "key", "server_name", "hour"] as const;
    const [line] = (await table(reportOf(by, [row(labels)]), { columns: 80 })).split("\n").slice(2);
    expect(line).toMatch(/^eu {6}ops {2}github {2}2026-11-01T01:00Z {2}█/);
    const long = row({ ...labels, server_name: "a".repeat(60) });
    const [cut] = (await table(reportOf(by, [long]), { columns: 80 })).split("\n").slice(2);
    expect(cut).toMatch(/^eu {6}ops {2}a{20}… {2}2026-11-01T01:00Z {2}█/);
  });

  it("shortens UUIDs, and no other ids, which may all begin alike", async () => {
    const ids = ["3f2a0c1e-5b7d-4e0a-9c55-2d1f7a6b8c90", "instance-1", "instance-2", "7"];
    const rows = ids.map((server) => row({ server }));
    const shown = (await table(reportOf(["server"], rows))).split("\n").slice(2, -1);
    expect(shown.map((line) => line.split(" ")[0])).toEqual(["3f2a0c1e", ...ids.slice(1)]);
  });

  it("is ASCII where the screen shows no more", async () => {
    const report = reportOf(["server_name"], [row({ server_name: "沙箱 é" })]);
    const text = await table(report, { isUnicode: false });
    expect(text).toMatch(/^[\n\x20-\x7e]*$/);
    expect(text).toContain("???? ?");
    expect(text).toContain("########..");
    expect(text).toContain("<=2");
  });

  it("has no line that is wider than the screen, and no more lines than rows", async () => {
    const name = fc.oneof(
      fc.string({ unit: "binary", maxLength: 80 }),
      fc.constantFrom(...hostile),
    );
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.tuple(name, name), { minLength: 1, maxLength: 5 }),
        fc.integer({ min: 40, max: 200 }),
        async (names, columns) => {
          const rows = names.map(([key, server_name]) => row({ key, server_name }));
          const text = await table(reportOf(["key", "server_name", "day"], rows), { columns });
          const lines = text.split("\n").slice(0, -1);
          expect(lines).toHaveLength(rows.length + 2);
          expect(Math.max(...lines.map(textWidth))).toBeLessThanOrEqual(columns);
          expect(text).not.toMatch(/[^\n\P{Cc}]/u);
        },
      ),
    );
  });
});

it.each([
  [0, "0s"],
  [9.94, "9.9s"],
  [9.96, "10s"],
  [65, "1m5s"],
  [7_260, "2h1m"],
  [100_000, "1d3h"],
  [86_400 * 123.9, "123d21h"],
])("%f seconds are %s", (seconds, text) => {
  expect(durationText(seconds)).toBe(text);
});

it("shares that are almost 0 or 1 do not look like 0 or 1", () => {
  expect([0, 0.00001, 0.99999, 1].map(shareText)).toEqual(["0.0%", "<0.1%", ">99.9%", "100.0%"]);
  expect([0, 0.0001, 1].map((share) => bar(share, 4, true))).toEqual(["    ", "█   ", "████"]);
  expect(bar(0.5, 4, false)).toBe("##..");
});
