import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { parse } from "yaml";
import { z } from "zod";
import { readKnownSeries } from "../support/known-series.ts";
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

/** In the order of the files: a rule may use what one before it recorded. */
async function checkAll() {
  const recorded = new Map<string, ReadonlySet<string>>();
  const known = await readKnownSeries(recorded);
  const checked = groups
    .flatMap(({ rules }) => rules)
    .map((rule) => {
      const name = "record" in rule ? rule.record : rule.alert;
      const result = checkPromql(rule.expr, known);
      if ("record" in rule) recorded.set(name, result.labels);
      return { name, ...result };
    });
  return { checked, recorded };
}

describe("the rules for Prometheus", () => {
  it("use only metrics, labels and values that are exposed or recorded", async () => {
    const { checked } = await checkAll();
    expect(checked.length).toBeGreaterThan(30);
    expect(checked.filter(({ faults }) => faults.length > 0)).toEqual([]);
  });

  it("use no family with a series for each server or sandbox", async () => {
    const { checked } = await checkAll();
    const touching = checked.filter(({ metrics }) =>
      [...metrics].some((name) => perServer.test(name)),
    );
    expect(touching).toEqual([]);
  });

  it("record series whose names say their labels and their window", async () => {
    const { recorded } = await checkAll();
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

  it("show only labels that the alert has", async () => {
    const { checked } = await checkAll();
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
      expect(annotations.runbook_url).toBe(`docs/operations.md#${alert.toLowerCase()}`);
    }
  });

  it("each have a test for promtool", () => {
    const testFile = z.looseObject({
      tests: z.array(
        z.looseObject({
          alert_rule_test: z
            .array(z.looseObject({ alertname: z.string(), exp_alerts: z.array(z.unknown()) }))
            .default([]),
          promql_expr_test: z.array(z.looseObject({ expr: z.string() })).default([]),
        }),
      ),
    });
    const folder = join(prometheusFolder, "tests");
    const tests = readdirSync(folder).flatMap(
      (name) => testFile.parse(parse(readFileSync(join(folder, name), "utf8"))).tests,
    );
    const expectations = tests.flatMap(({ alert_rule_test }) => alert_rule_test);
    for (const { alert } of alerting) {
      const fired = expectations
        .filter(({ alertname }) => alertname === alert)
        .map(({ exp_alerts }) => exp_alerts.length > 0);
      const first = fired.indexOf(true);
      const startsQuiet = fired.slice(0, Math.max(first, 0)).includes(false);
      const ends = first >= 0 && fired.slice(first).includes(false);
      expect({ alert, startsQuiet, ends }).toEqual({ alert, startsQuiet: true, ends: true });
    }
    const asked = tests.flatMap(({ promql_expr_test }) => promql_expr_test.map(({ expr }) => expr));
    for (const { record } of recording) {
      expect([record, asked.some((expr) => expr.includes(record))]).toEqual([record, true]);
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
])("the check of expressions finds fault with %s", async (expr, fault) => {
  expect(checkPromql(expr, await readKnownSeries()).faults).toContain(fault);
});
