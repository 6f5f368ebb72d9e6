import { execFile } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import {
  prometheusFolder,
  readRuleGroups,
  recordingRulesOf,
  ruleFiles,
} from "../../support/rule-files.ts";
import { tempFolder } from "../../support/temp-folder.ts";

const run = promisify(execFile);

/** The rules as they are, but evaluated each second, and what would wait does not. */
export function writeHastyRules(): readonly string[] {
  const folder = tempFolder();
  return ruleFiles.map((name) => {
    const text = readFileSync(join(prometheusFolder, name), "utf8");
    const file = join(folder, name);
    writeFileSync(file, text.replaceAll(/^( +(?:for|interval)): \d+m$/gm, "$1: 1s"));
    return file;
  });
}

/**
 * Two days of what the rules recorded: a long window is put together of full hours.
 *
 * @param folder of the Prometheus that is to have them
 */
export async function backfillRecorded(folder: string): Promise<void> {
  const nowSeconds = Math.floor(Date.now() / 1_000);
  const target = 'job="sandwatch",region="us",key="research",server_name="backfilled"';
  const lines = recordingRulesOf(readRuleGroups())
    .map(({ record }) => record)
    .filter((record) => !record.includes(":ratio_"))
    .flatMap((record) => [
      `# TYPE ${record} gauge`,
      ...Array.from({ length: 570 }, (_, index) => {
        const atSeconds = nowSeconds - 2 * 86_400 + index * 300;
        return `${record}{${target}} 1 ${atSeconds}`;
      }),
    ]);
  const file = join(folder, "history.txt");
  writeFileSync(file, `${lines.join("\n")}\n# EOF\n`);
  await run("promtool", ["tsdb", "create-blocks-from", "openmetrics", file, join(folder, "data")]);
}
