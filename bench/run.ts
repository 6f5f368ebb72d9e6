import { readFileSync, writeFileSync } from "node:fs";
import { cpus, totalmem } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { z } from "zod";
import { scenarios } from "./scenarios/scenarios.ts";
import { drawPlots } from "./support/plots.ts";
import { joinRounds } from "./support/result.ts";
import type { Result } from "./support/result.ts";
import { startHelper } from "./support/rpc.ts";
import { measurementSchema } from "./support/scenario.ts";
import type { Measurement, Scenario } from "./support/scenario.ts";
import { formatTable } from "./support/table.ts";

/**
 * `node bench/run.ts [scenario ...] [--quick]` measures what the daemon promises to cost, each figure
 * beside a floor of the same run. Only what broke or gave a wrong result makes it fail: a target that
 * was missed is said, not punished, as machines differ. `--quick` measures less, to see that all of
 * it works: its figures are printed and not kept.
 */
const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { quick: { type: "boolean", default: false } },
});
const unknown = positionals.filter((name) => scenarios.every((each) => each.name !== name));
if (unknown.length > 0) {
  const known = scenarios.map(({ name }) => name).join(", ");
  process.stderr.write(`no scenario ${unknown.join(", ")}; there are ${known}\n`);
  process.exit(2);
}

const { quick } = values;
const results: Result[] = [];
const failed: string[] = [];
for (const scenario of scenarios) {
  if (positionals.length > 0 && !positionals.includes(scenario.name)) continue;
  try {
    results.push(...joinRounds(scenario.name, await runRounds(scenario)));
  } catch (error) {
    failed.push(scenario.name);
    process.stderr.write(
      `${scenario.name}: ${error instanceof Error ? error.stack : String(error)}\n`,
    );
  }
}
process.stdout.write(formatTable(results));
if (failed.length > 0) process.stdout.write(`\nfailed: ${failed.join(", ")}\n`);
if (!quick) writeResults();
process.exitCode = failed.length > 0 ? 1 : 0;

async function runRounds(scenario: Scenario): Promise<readonly (readonly Measurement[])[]> {
  const rounds = quick ? scenario.rounds.quick : scenario.rounds.full;
  const measured: (readonly Measurement[])[] = [];
  for (let round = 1; round <= rounds; round += 1) {
    process.stderr.write(`${scenario.name}, round ${round} of ${rounds}\n`);
    const path = join(import.meta.dirname, "support/scenario-process.ts");
    await using helper = await startHelper(path, [
      "--expose-gc",
      ...(scenario.nodeArguments ?? []),
    ]);
    const order = { name: scenario.name, quick };
    measured.push(await helper.ask("run", order, z.array(measurementSchema)));
  }
  return measured;
}

/** A run of some scenarios keeps what is known of the others. */
function writeResults(): void {
  const file = join(import.meta.dirname, "results.json");
  const date = new Date().toISOString();
  const machine = {
    cpu: cpus()[0]?.model ?? "unknown",
    cores: cpus().length,
    memoryBytes: totalmem(),
  };
  const ran = new Set(results.map(({ scenario }) => scenario));
  const kept = readKept(file).filter(({ scenario }) => !ran.has(scenario));
  const rows = results.map((result) => ({ ...result, date, node: process.version }));
  const order = new Map(scenarios.map(({ name }, index) => [name, index]));
  const all = [...kept, ...rows].toSorted(
    (a, b) => (order.get(a.scenario) ?? 0) - (order.get(b.scenario) ?? 0),
  );
  writeFileSync(
    file,
    `${JSON.stringify({ date, node: process.version, machine, results: all }, null, 2)}\n`,
  );
  for (const { file: plot, svg } of drawPlots(results)) {
    writeFileSync(join(import.meta.dirname, plot), svg);
  }
}

function readKept(file: string) {
  const keptSchema = z.object({ results: z.array(z.looseObject({ scenario: z.string() })) });
  try {
    return keptSchema.parse(JSON.parse(readFileSync(file, "utf8"))).results;
  } catch {
    return [];
  }
}
