import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { startPrometheus } from "../e2e/support/prometheus-server.ts";
import { readDashboards } from "../support/dashboards.ts";
import type { CheckedInDashboard, Choice, Panel } from "../support/dashboards.ts";
import { readRuleGroups, recordingRulesOf } from "../support/rule-files.ts";
import { tempFolder } from "../support/temp-folder.ts";
import { openGrafanaPage } from "./grafana-page.ts";
import { ask, framesOf, scaleOf, seconds } from "./panel-data.ts";
import type { TimeRange } from "./panel-data.ts";
import { createBlocks, simulateDay } from "./simulated-day.ts";

const hour = 3_600;
/** Where pictures for the documents go, if they are wanted. */
const pictures = process.env["PICTURES"];

/** Writes what the recording rules would have recorded: short windows over days, then what is computed from them. */
async function record(folder: string, end: number): Promise<void> {
  const rules = recordingRulesOf(readRuleGroups());
  for (const isRatio of [false, true]) {
    const prometheus = await startPrometheus({}, {}, folder);
    const lines: string[] = [];
    for (const { record: name, expr } of rules) {
      if (name.includes(":ratio_") !== isRatio) continue;
      const [from, step] = isRatio
        ? [end, hour]
        : name.endsWith("1h")
          ? [end - 15 * 24 * hour, hour]
          : [end - 24 * hour, 300];
      // The days before the last have a sample each hour.
      const query = { query: expr.replaceAll("[1h]", "[2h]"), start: from, end, step };
      for (const { metric, values } of await ask(prometheus.address, "query_range", query)) {
        const labels = Object.entries(metric).filter(([label]) => label !== "__name__");
        const text = labels.map(([label, value]) => `${label}=${JSON.stringify(value)}`).join();
        for (const [at, value] of values) lines.push(`${name}{${text}} ${value} ${at}`);
      }
    }
    await prometheus.kill();
    const file = join(folder, "recorded.txt");
    writeFileSync(file, `${lines.join("\n")}\n# EOF\n`);
    await createBlocks(file, folder);
  }
}

/** The rows of a dashboard with their panels, in its order. */
function rowsOf({ whole, rows }: CheckedInDashboard) {
  return rows.map(({ title, gridPos: { y } }, index) => {
    const end = rows[index + 1]?.gridPos.y ?? Infinity;
    const isWithin = (panel: Panel): boolean => panel.gridPos.y > y && panel.gridPos.y < end;
    return { title: `${whole.title}: ${title}`, isWithin };
  });
}

it("Grafana's components draw every panel of every dashboard with data of a real Prometheus", async () => {
  const folder = tempFolder();
  const end = Math.floor(Date.now() / 1_000 / hour) * hour;
  await simulateDay(folder, end * 1_000);
  await record(folder, end);
  const { address } = await startPrometheus({}, {}, folder);
  const inError = 'sandbox_server_status{status="error"} == 1';
  const erring = await ask(address, "query", { query: inError, time: end });
  const { sandbox = "", server = "" } =
    erring.find(({ metric }) => metric["region"] === "us")?.metric ?? {};
  const choice: Choice = {
    region: ".*",
    key: ".*",
    server_name: ".*",
    instance: ".*",
    erring: erring.map(({ metric }) => metric["server"]).join("|"),
    sandbox,
    server,
  };

  const { page, problems } = await openGrafanaPage();
  const empty: string[] = [];
  const odds: string[] = [];
  for (const dashboard of readDashboards()) {
    const { file, whole, panels } = dashboard;
    const range: TimeRange = { from: end - seconds(whole.time.from.replace("now-", "")), to: end };
    for (const [index, { title, isWithin }] of rowsOf(dashboard).entries()) {
      const drawn = await Promise.all(
        panels.filter(isWithin).map(async (panel) => ({
          panel,
          range: scaleOf(panel, range).range,
          frames: await framesOf(address, panel, choice, range),
        })),
      );
      await page.evaluate(`draw(${JSON.stringify(title)}, ${JSON.stringify(drawn)})`);
      await page.getByRole("heading", { name: title }).waitFor();
      await page.waitForTimeout(500);
      for (const { panel } of drawn) {
        const article = page.locator(`[data-panel="${panel.id}"]`);
        if ((await article.getAttribute("data-empty")) === "true") {
          empty.push(`${file}: ${panel.title}`);
        }
        const [odd] = /\bValue\b|NaN|undefined|Invalid/.exec(await article.innerText()) ?? [];
        if (odd !== undefined) odds.push(`${file}: ${panel.title}: ${odd}`);
      }
      if (pictures !== undefined) {
        const name = `dashboard-${file.replace(".json", "")}-${index + 1}.png`;
        await page.screenshot({ path: join(pictures, name), fullPage: true });
      }
    }
  }
  expect([problems, odds]).toEqual([[], []]);
  // Only processes on PostgreSQL have a lease.
  expect(empty).toEqual(["sandwatch.json: Remaining lease"]);
});
