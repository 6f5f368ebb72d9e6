import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { csvOf, jsonOf } from "../../src/cli/report/streams.ts";
import { bar, durationText, shareText } from "../../src/cli/report/quantities.ts";
import { tableOf } from "../../src/cli/report/table.ts";
import type { Screen } from "../../src/cli/report/table.ts";
import type { Texts, StreamedReport } from "../../src/cli/report/streams.ts";
import { textWidth } from "../../src/cli/text-width.ts";
import { noDwells } from "../../src/fleet/dwell.ts";
import { viewRow } from "../../src/api/operations/occupancy.ts";
import type { RowView } from "../../src/api/operations/occupancy.ts";

function row(group: Partial<RowView>, more: Partial<RowView> = {}): RowView {
  const empty = viewRow({
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
  return { ...group, ...empty, ...more };
}

function told(by: StreamedReport["by"], rows: readonly RowView[], tz = "UTC"): StreamedReport {
  async function* each(): AsyncIterable<RowView> {
    yield* rows;
  }
  const [from, to] = ["2026-11-01T00:00:00.000Z", "2026-11-08T00:00:00.000Z"];
  return { from, to, tz, by, notes: [], rows: each() };
}

async function join(texts: Texts): Promise<string> {
  let whole = "";
  for await (const text of texts) whole += text;
  return whole;
}

const table = (report: StreamedReport, screen: Partial<Screen> = {}): Promise<string> =>
  join(tableOf(report, { isUnicode: true, ...screen }));

const hostile = [
  "=1+1",
  "+1",
  "-1",
  "@sum",
  "＝1+1",
  "\ttab",
  "\n=1+1",
  "a,b",
  'say "hi"',
  "two\r\nlines",
  "it's",
  "",
];

/** Reads CSV as RFC 4180 has it. */
function parseCsv(text: string): string[][] {
  const field = /(?:"((?:[^"]|"")*)"|([^",\r\n]*))(,|\r\n)/y;
  const rows: string[][] = [[]];
  while (field.lastIndex < text.length) {
    const match = field.exec(text);
    if (!match) throw new Error(`no CSV: ${text.slice(0, 100)}`);
    const [, quoted, plain = "", end] = match;
    rows.at(-1)?.push(quoted === undefined ? plain : quoted.replaceAll('""', '"'));
    if (end === "\r\n") rows.push([]);
  }
  return rows.slice(0, -1);
}

describe("the CSV of a report", () => {
  it("is read back, and nothing in it is a formula", async () => {
    const rows = hostile.map((name) => row({ server_name: name }));
    const [header, ...lines] = parseCsv(await join(csvOf(told(["server_name"], rows))));
    expect(header?.slice(0, 2)).toEqual(["server_name", "occupied_share"]);
    expect(lines.map(([name]) => name)).toEqual(
      hostile.map((name) => (/^[=+\-@\t\n＝]/.test(name) ? `'${name}` : name)),
    );
    expect(new Set(lines.map(({ length }) => length))).toEqual(new Set([header?.length]));
  });

  it("does nothing to a terminal, whatever names there are", async () => {
    const rows = [row({ server_name: "\u001b[2Jred\u009b31m\u007f\u0000" })];
    const text = await join(csvOf(told(["server_name"], rows)));
    expect(text).not.toMatch(/(?![\r\n])\p{Cc}/u);
    expect(text).toContain("\\u{1b}[2Jred\\u{9b}31m");
  });

  it("leaves out what there is not", async () => {
    const text = await join(csvOf(told([], [row({}, { occupied_share: null, stays: 0 })])));
    expect(text.split("\r\n")[1]).toMatch(/^,0\.2/);
  });
});

describe("the JSON of a report", () => {
  it.each([0, 1, 3])("is whole with %i rows", async (count) => {
    const rows = Array.from({ length: count }, () => row({ key: "a\u202eb\u2028" }));
    const text = await join(jsonOf(told(["key"], rows)));
    expect(JSON.parse(text)).toMatchObject({ by: ["key"], rows });
    expect(text).not.toMatch(/[\p{Cf}\u2028]/u);
  });
});

describe("the table of a report", () => {
  const rows = [
    row({ region: "us", key: "research" }),
    row({ region: "eu", key: "ops" }, { occupied_share: null, occupied_average: null }),
  ];

  it("has the most important columns where there is not room for all", async () => {
    const wide = await table(told(["region", "key"], rows));
    expect(wide.split("\n").slice(0, 3)).toEqual([
      "2026-11-01T00:00Z to 2026-11-08T00:00Z, UTC",
      "region  key       occupied              idle   error  unknown  unseen    avg    peak   stays    mean  median     p95  incid.  in error  recover",
      "us      research  ███████▌     75.0%   25.0%   <0.1%     0.0%    0.0%   1.50      ≤2       0       -       -       -       1      3.6s     1m5s",
    ]);
    const narrow = await table(told(["region", "key"], rows), { columns: 80 });
    expect(narrow.split("\n")[1]).toBe(
      "region  key       occupied              idle   error  unseen    avg    peak",
    );
  });

  it("cuts UUIDs, and no other ids, which may all begin alike", async () => {
    const ids = ["3f2a0c1e-5b7d-4e0a-9c55-2d1f7a6b8c90", "instance-1", "instance-2", "7"];
    const text = await table(
      told(
        ["server"],
        ids.map((server) => row({ server })),
      ),
    );
    const shown = text.split("\n").slice(2, -1);
    expect(shown.map((line) => line.split(" ")[0])).toEqual(["3f2a0c1e", ...ids.slice(1)]);
  });

  it("is ASCII where the screen shows no more", async () => {
    const text = await table(told(["server_name"], [row({ server_name: "沙箱 é" })]), {
      isUnicode: false,
    });
    expect(text).toMatch(/^[\n\x20-\x7e]*$/);
    expect(text).toContain("#######...");
    expect(text).toContain("<=2");
  });

  it("tells times as the zone's clocks do", async () => {
    const text = await table(told([], rows, "Europe/Berlin"));
    expect(text).toMatch(/^2026-11-01T01:00\+01:00 to 2026-11-08T01:00\+01:00, Europe\/Berlin\n/);
  });

  it("never has a line that is wider than the screen, nor one that was not a row", async () => {
    const name = fc.oneof(
      fc.string({ unit: "binary", maxLength: 80 }),
      fc.constantFrom(...hostile),
    );
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.tuple(name, name), { minLength: 1, maxLength: 5 }),
        fc.integer({ min: 40, max: 200 }),
        async (names, columns) => {
          const some = names.map(([key, server_name]) => row({ key, server_name }));
          const text = await table(told(["key", "server_name", "day"], some), { columns });
          const lines = text.split("\n").slice(0, -1);
          expect(lines).toHaveLength(some.length + 2);
          expect(Math.max(...lines.map(textWidth))).toBeLessThanOrEqual(columns);
          expect(text).not.toMatch(/[^\n\P{Cc}]/u);
        },
      ),
    );
  });

  it("goes on in the same columns after the rows by which they were chosen", async () => {
    const many = Array.from({ length: 1_500 }, (_, index) =>
      row({ server_name: index < 1_200 ? "git" : "a-name-that-is-much-longer" }),
    );
    const lines = (await table(told(["server_name"], many), { columns: 80 })).split("\n");
    expect(new Set(lines.slice(2, -1).map(textWidth)).size).toBe(1);
  });
});

it.each([
  [0, "0s"],
  [0.04, "0.0s"],
  [9.94, "9.9s"],
  [9.96, "10s"],
  [65, "1m5s"],
  [3_600, "1h"],
  [7_260, "2h1m"],
  [100_000, "1d3h"],
  [86_400 * 123.9, "123d"],
  [1e15, ">99999d"],
])("%f seconds are %s", (seconds, text) => {
  expect(durationText(seconds)).toBe(text);
});

it.each([
  [0, "0.0%"],
  [0.00001, "<0.1%"],
  [0.99999, ">99.9%"],
  [1, "100.0%"],
])("a share of %f is %s", (share, text) => {
  expect(shareText(share)).toBe(text);
});

it("a bar shows that little is not nothing, and is as long as it may be", () => {
  expect(bar(0.0001, 10, true)).toBe("▏         ");
  expect(bar(0, 10, true)).toBe("          ");
  expect(bar(1, 10, true)).toBe("██████████");
  expect(bar(0.5, 10, false)).toBe("#####.....");
});
