import { writeFileSync } from "node:fs";
import { cpus, loadavg, totalmem } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { history } from "./scenarios/history.ts";
import { manyTargets, smallTargets } from "./scenarios/many-targets.ts";
import { oneTarget } from "./scenarios/one-target.ts";
import { openStatusPages } from "./scenarios/open-pages.ts";
import { reports } from "./scenarios/reports.ts";
import { tenTargets } from "./scenarios/ten-targets.ts";
import { formatTable, toRow } from "./support/row.ts";
import type { Row } from "./support/row.ts";
import type { Scenario } from "./support/row.ts";

/**
 * `node bench/run.ts [SCENARIO ...] [--quick]` states what the daemon costs beside its budget. Only what broke or gave a
 * wrong result makes it fail, not a budget that was missed, as machines differ. A full run of all scenarios is kept in
 * `results.json`.
 */
const scenarios: readonly Scenario[] = [
  oneTarget,
  tenTargets,
  manyTargets,
  smallTargets,
  openStatusPages,
  history,
  reports,
];
const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { quick: { type: "boolean", default: false } },
});
const { quick } = values;
const unknown = positionals.filter((name) => scenarios.every((each) => each.name !== name));
if (unknown.length > 0) {
  const known = scenarios.map(({ name }) => name).join(", ");
  process.stderr.write(`no scenario ${unknown.join(", ")}; there are ${known}\n`);
  process.exit(2);
}

const isWanted = ({ name }: Scenario): boolean =>
  positionals.length === 0 || positionals.includes(name);
const machine = {
  cpu: cpus()[0]?.model ?? "unknown",
  cores: cpus().length,
  memoryBytes: totalmem(),
  node: process.version,
};
const loads = [loadavg()[0]];
const rows: Row[] = [];
const failed: string[] = [];
for (const scenario of scenarios.filter(isWanted)) {
  process.stderr.write(`${scenario.name} ...\n`);
  try {
    const measured = await scenario.run({ quick });
    rows.push(...measured.map((each) => toRow(scenario.name, each)));
  } catch (error) {
    failed.push(scenario.name);
    const shown = error instanceof Error ? error.stack : String(error);
    process.stderr.write(`${scenario.name}: ${shown}\n`);
  }
  loads.push(loadavg()[0]);
}
process.stdout.write(formatTable(rows));
if (failed.length > 0) process.stdout.write(`\nfailed: ${failed.join(", ")}\n`);
if (!quick && positionals.length === 0 && failed.length === 0) {
  const results = { date: new Date().toISOString(), machine, loads, rows };
  const file = join(import.meta.dirname, "results.json");
  writeFileSync(file, `${JSON.stringify(results, null, 2)}\n`);
}
process.exitCode = failed.length > 0 ? 1 : 0;
