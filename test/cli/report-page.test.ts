import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { viewRow, type RowView } from "../../src/api/operations/occupancy.ts";
import { runProgram } from "../../src/cli/program.ts";
import { viewOutlooks } from "../../src/api/operations/outlook.ts";
import { outlookOf } from "../../src/reports/outlook.ts";
import { UsageSums } from "../../src/reports/pool-usage.ts";
import type { PageReport } from "../../src/web/pages/read-report.ts";
import { renderReport } from "../../src/web/pages/report-page.ts";
import { noDwells } from "../../src/fleet/dwell.ts";
import type { Terminal } from "../../src/cli/terminal.ts";
import { runCommand } from "../support/run-command.ts";
import { tempFolder } from "../support/temp-folder.ts";
import { watchWorld } from "../support/watched-world.ts";

const hourMs = 3_600_000;

function row(labels: Partial<RowView>, occupied: number | null): RowView {
  const isObserved = occupied !== null;
  const ms = { idle: 0, occupied: 0, error: 0, unknown: 0 };
  return {
    ...viewRow({
      group: {},
      ms: isObserved ? { ...ms, idle: (1 - occupied) * hourMs, occupied: occupied * hourMs } : ms,
      unobservedMs: isObserved ? 0 : hourMs,
      isObserved,
      occupiedAverage: occupied,
      occupiedPeak: isObserved ? { count: 1, isExact: false } : null,
      serversAverage: isObserved ? 1 : null,
      serversPeak: isObserved ? 1 : null,
      dwells: noDwells,
      dwellsMs: [],
      incidents: 0,
      recoveries: { count: 0, leastMs: 0, mostMs: 0 },
    }),
    ...labels,
  };
}

const range = { from: "2026-11-01T00:00:00.000Z", to: "2026-11-04T00:00:00.000Z" };
const query = { of: "servers", nowMs: Date.parse(range.to), threshold: 0.9 } as const;
const none = { weeks: [], lastNoIdleMs: 0, usage: new UsageSums().result(), isExact: true };
const noOutlook = {
  ...range,
  ...viewOutlooks({ answer: "It is unknown.", all: outlookOf(none, 0.9), pools: [] }, query),
};

function render(page: Partial<PageReport>, notes: readonly string[] = []): string {
  const report = {
    ...range,
    tz: "UTC",
    by: ["server_name"] as const,
    notes,
    rows: page.names ?? [],
  };
  const nothing = { hasMore: false, total: undefined, days: [], hours: [], names: [] };
  return renderReport({ report, ...nothing, outlook: noOutlook, ...page });
}

it("a page has a line of its days, broken where they were unobserved, and a cell for each hour of a week", async () => {
  const days = [0.5, 0.25, null, 1].map((share, day) => row({ day: `2026-11-0${day + 1}` }, share));
  const hours = [
    row({ hour: "2026-11-02T13:00+01:00" }, 0.5),
    row({ hour: "2026-11-09T13:00+01:00" }, 1),
  ];
  const text = render({ days, hours, total: row({}, 0.5) });
  expect(text).toContain('d="M0.5 50.00h0.001L1.5 75.00M3.5 0.00h0.001"');
  expect(text).toContain("<title>2026-11-03: - occupied, 100.0% unobserved</title");
  expect(text).toContain("<title>Mon 13:00: 75.0% occupied</title");
  expect(text.match(/<title>... \d\d:00: unobserved<\/title/g)).toHaveLength(7 * 24 - 1);
  expect(text).toContain("≤1");
});

it("a page says of a pool without a benchmark, of which nothing is known, neither when it runs out nor how long none was idle", () => {
  const pool = { region: "us", key: "research", benchmark: "", ...noOutlook.all };
  const [, cells = ""] = render({
    outlook: { ...noOutlook, pools: [{ ...pool, peak_reason: "passed_already", peak_level: 1 }] },
  }).split("<bdi>us/research/-</bdi>");
  const texts = [...cells.matchAll(/<td[^>]*>([^<]*)/g)].map(([, text]) => text);
  expect(texts.slice(0, 5)).toEqual(["unknown", "-", "-", "-", "100.0%"]);
});

it("a page shows hostile names as text, cut, and loads and runs nothing", async () => {
  const hostile = [
    "<script>alert(1)</script>",
    `"><img src=x onerror='x'>`,
    "abc\u202edcba\u200f",
    "n".repeat(10_000),
    "",
  ];
  const names = hostile.map((server_name) => row({ server_name }, 0.5));
  const text = render({ names, total: row({}, 0.5) }, ["<b>note</b>"]);
  expect(text).toContain("<bdi>&lt;script&gt;alert(1)&lt;/script&gt;</bdi>");
  expect(text).toContain("<bdi>&quot;&gt;&lt;img src=x onerror=&#39;x&#39;&gt;</bdi>");
  expect(text).toContain("&lt;b&gt;note&lt;/b&gt;");
  expect(text).not.toMatch(/<script|<img|<link|<b>|\p{Cf}|https?:|url\(/u);
  expect(text.length).toBeLessThan(30_000);
});

it("the first screen of a page says when servers run out, and a table has each pool", () => {
  const week = { observedShare: 1, isEmpty: false, occupiedAverage: 5, servers: 20 };
  const weeks = Array.from({ length: 6 }, (_, index) => ({
    ...week,
    startMs: query.nowMs + (index - 6) * 7 * 24 * hourMs,
    occupiedPeak: 10 + index,
  }));
  const outlook = outlookOf({ ...none, weeks }, 0.9);
  const pool = { region: "us", key: "<b>ops</b>", server_name: "git" };
  const answer = "git in us/ops runs out around 5 December.";
  const view = viewOutlooks(
    { answer, all: outlook, pools: [{ pool, name: "git", outlook }] },
    query,
  );
  const text = render({ outlook: { ...range, ...view }, total: row({}, 0.5) });
  const [before = "", after = ""] = text.split("<h2>When do we run out?</h2>");
  expect(before).toContain(`<p class="answer">${answer}</p>`);
  expect(after).toContain("<bdi>us/&lt;b&gt;ops&lt;/b&gt;/git</bdi>");
  const [table = ""] = after.split("</table>");
  expect(table.match(/<td/g)).toHaveLength(table.match(/<th /g)?.length ?? 0);
  for (const cell of ["2026-12-05", "20", "75.0%", "5", "+5.0"]) {
    expect(after).toContain(
      `<td class="${cell.startsWith("2026") ? "text" : "number"}">${cell}</td>`,
    );
  }
  expect(after).toContain("its weekly peak rises by 5.0 percentage points a week.");
});

it("a page of nothing, and of unobserved time, says so", async () => {
  expect(render({})).toContain("There is nothing to report.");
  const days = [row({ day: "2026-11-01" }, null)];
  const hours = [row({ hour: "2026-11-01T00:00Z" }, null)];
  const names = [row({ server_name: "git" }, null)];
  const text = render({ days, hours, names, total: row({}, null) }, ["Nothing was observed."]);
  expect(text).toContain("<dd>100.0%</dd>");
  expect(text).toContain("Nothing was observed.");
  expect(text).not.toMatch(/NaN|Infinity|undefined|null/);
});

it("a report is written to a file in any format, which stays as it was where there is no report", async () => {
  const world = await watchWorld({ servers: 2 });
  await world.poll(3);
  const url = await world.address();
  const file = join(tempFolder(), "report");
  const run = async (args: readonly string[], screen: Partial<Terminal> = {}): Promise<string> => {
    let text = "";
    const out = (part: string): void => void (text += part);
    const asked = ["report", "--url", url, "--from", "2026-11-20T00:00Z", "--by", "server_name"];
    await runProgram([...asked, ...args], { out, err() {}, isInteractive: false, ...screen });
    return text;
  };
  const screen = { columns: 40, isColored: true, isUnicode: true };
  for (const format of ["table", "csv", "json", "html"]) {
    const printed = await run(["--format", format], { isUnicode: true });
    expect(await run(["--format", format, "--output", file], screen)).toBe("");
    expect(readFileSync(file, "utf8")).toBe(printed);
  }
  expect(readFileSync(file, "utf8")).toMatch(/^<!doctype html>[^]*<\/html>\s*$/);

  // Only people read when servers run out: that takes longer than the rows.
  const answer = "It is unknown when";
  expect(await run([], { columns: 80 })).toMatch(/\n(It is unknown when .*|No pool has .*)\n$/);
  expect(await run([])).not.toContain(answer);

  writeFileSync(file, "before");
  const asked = ["report", "--url", url, "--from", "nonsense", "--output", file];
  expect(await runCommand(asked)).toMatchObject({ code: 2 });
  expect(readFileSync(file, "utf8")).toBe("before");
  const nowhere = ["report", "--url", url, "--from", "7d", "--output", join(file, "x")];
  expect(await runCommand(nowhere)).toMatchObject({
    code: 1,
    err: expect.stringContaining("cannot be written"),
  });
});
