import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { checkRules } from "../support/known-series.ts";
import { checkPromql } from "../support/promql.ts";
import {
  alertingRulesOf,
  prometheusFolder,
  readRuleGroups,
  recordingRulesOf,
} from "../support/rule-files.ts";

const root = join(prometheusFolder, "../..");
const groups = readRuleGroups();
const recording = recordingRulesOf(groups);
const alerting = alertingRulesOf(groups);
const perServer = /^sandbox_(server_status|server_info|server_status_since_.*|status)$/;

const { checked, recorded, known } = await checkRules();

describe("the rules for Prometheus", () => {
  it("use only what is exposed or recorded, and nothing with a series for each server", () => {
    expect(checked.length).toBeGreaterThan(30);
    expect(checked.filter(({ faults }) => faults.length > 0)).toEqual([]);
    const metrics = checked.flatMap((rule) => [...rule.metrics]);
    expect(metrics.filter((name) => perServer.test(name))).toEqual([]);
  });

  it("record series whose names say their labels and their window", () => {
    for (const { record, expr } of recording) {
      const [level = "", , operation = ""] = record.split(":");
      expect([record, [...(recorded.get(record) ?? [])].join("_")]).toEqual([record, level]);
      const window = /rate(\d+[mhd])$/.exec(operation)?.[1];
      const ranges = Array.from(expr.matchAll(/\[(\w+)(?::\w+)?\]/g), ([, range]) => range);
      const sources = Array.from(expr.matchAll(/:rate(\w+)/g), ([, range]) => range);
      const used = ranges.length > 0 ? ranges : sources;
      expect([record, [...new Set(used)]]).toEqual([record, [window]]);
    }
  });

  it("show only labels that the alert has", () => {
    for (const { alert, annotations } of alerting) {
      const texts = `${annotations.summary} ${annotations.description}`;
      const shown = Array.from(texts.matchAll(/\$labels\.(\w+)/g), ([, label = ""]) => label);
      const labels = checked.find(({ name }) => name === alert)?.labels ?? new Set();
      const lacking = shown.filter((label) => !labels.has(label) && label !== "instance");
      expect([alert, lacking]).toEqual([alert, []]);
    }
  });

  it("have a runbook entry for each alert, and no other", () => {
    const operations = readFileSync(join(root, "docs/operations.md"), "utf8");
    const entries = Array.from(operations.matchAll(/^### (Sand\w+)$/gm), ([, name = ""]) => name);
    for (const entry of operations.split(/^### (?=Sand)/m).slice(1)) {
      const parts = Array.from(entry.matchAll(/^\*\*(.+?):\*\* ./gm), ([, part]) => part);
      expect([entry, parts]).toEqual([entry, ["Means", "Look at", "Do"]]);
    }
    expect(entries).toEqual(alerting.map(({ alert }) => alert));
    for (const { alert, annotations } of alerting) {
      expect(annotations.runbook_url).toBe(
        `{{ $externalLabels.sandwatch_runbooks }}docs/operations.md#${alert.toLowerCase()}`,
      );
    }
  });
});

it.each([
  ["sandbox_serverz", "there is no metric sandbox_serverz"],
  ['sandbox_servers{zone="us"}', "sandbox_servers has no label zone"],
  ['sandbox_servers{status=~"idle|broken"}', "the status of sandbox_servers is never broken"],
  ["sum by (reason) (topk(3, sandbox_servers))", "by reason, which none of its series has"],
  [
    "sandbox_servers and on (receiver) sandwatch_target_up",
    "joins on receiver, which none of its series has",
  ],
  ["sum (sandwatch_target_up", 'it cannot be read at ""'],
])("the check of expressions finds fault with %s", (expr, fault) => {
  expect(checkPromql(expr, known).faults).toContain(fault);
});
