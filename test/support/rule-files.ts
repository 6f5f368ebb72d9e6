import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { parse } from "yaml";
import { z } from "zod";

export const prometheusFolder = join(import.meta.dirname, "../../config/prometheus");

const recordingRule = z.strictObject({ record: z.string(), expr: z.string() });
const alertingRule = z.strictObject({
  alert: z.string(),
  expr: z.string(),
  for: z.string().optional(),
  labels: z.strictObject({ severity: z.enum(["critical", "warning", "info"]) }),
  annotations: z.strictObject({
    summary: z.string(),
    description: z.string(),
    runbook_url: z.string(),
  }),
});
const ruleFile = z.strictObject({
  groups: z.array(
    z.strictObject({
      name: z.string(),
      interval: z.string().optional(),
      rules: z.array(z.union([recordingRule, alertingRule])),
    }),
  ),
});

export type RecordingRule = z.infer<typeof recordingRule>;
export type AlertingRule = z.infer<typeof alertingRule>;
export type RuleGroup = z.infer<typeof ruleFile>["groups"][number];

/** The names of the rule files, in alphabetical order. */
export const ruleFiles: readonly string[] = readdirSync(prometheusFolder)
  .filter((name) => name.endsWith(".rules.yaml"))
  .toSorted();

/** Every group of rules, in the order of the files. */
export function readRuleGroups(): readonly RuleGroup[] {
  return ruleFiles.flatMap(
    (name) => ruleFile.parse(parse(readFileSync(join(prometheusFolder, name), "utf8"))).groups,
  );
}

export function recordingRulesOf(groups: readonly RuleGroup[]): readonly RecordingRule[] {
  return groups.flatMap(({ rules }) => rules).filter((rule) => "record" in rule);
}

export function alertingRulesOf(groups: readonly RuleGroup[]): readonly AlertingRule[] {
  return groups.flatMap(({ rules }) => rules).filter((rule) => "alert" in rule);
}
