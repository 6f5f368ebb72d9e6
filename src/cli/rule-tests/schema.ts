import { z } from "zod";
import {
  count,
  duration,
  eachOnce,
  name,
  oneOf,
  scalar,
  settings,
  text,
} from "../../config/fields.ts";
import { matchSchema } from "../../config/schema-maintenance.ts";
import { failureReasons, statuses } from "../../fleet/model.ts";
import { severities } from "../../alerts/rule.ts";

function timeline<Word extends string>(words: readonly Word[]) {
  const allowed = `a timeline such as ${words[0]}*3 ${words[2]}*2, of ${words.join(", ")}`;
  return scalar(allowed, (value) => parseTimeline(String(value), words));
}

const mostPolls = 100_000;

/** Reads what consecutive polls show, such as `idle*3 error*2 gone`. Undefined: it is not valid. */
export function parseTimeline<Word extends string>(
  written: string,
  words: readonly Word[],
): readonly Word[] | undefined {
  const polls: Word[] = [];
  for (const token of written.trim().split(/\s+/)) {
    const [, each, times = "1"] = /^(\w+)(?:\*([1-9]\d{0,5}))?$/.exec(token) ?? [];
    const found = words.find((known) => known === each);
    if (found === undefined || polls.length + Number(times) > mostPolls) return undefined;
    for (let time = 0; time < Number(times); time += 1) polls.push(found);
  }
  return polls;
}

/** Ids and names as text; a bare number is taken as it is written. */
function word() {
  return scalar("text", (value) => (String(value) === "" ? undefined : String(value)));
}

const serverSchema = settings({
  region: name().optional(),
  key: name().optional(),
  sandbox: word().default("box"),
  server: word(),
  name: word().optional(),
  benchmark: word().optional(),
  tags: z.array(word(), "a list of tags").readonly().default([]),
  timeline: timeline([...statuses, "gone"]),
});

const sandboxSchema = settings({
  region: name().optional(),
  key: name().optional(),
  sandbox: word(),
  benchmark: word().optional(),
  timeline: timeline([...statuses, "unstated", "gone"]),
});

const targetSchema = settings({
  region: name().optional(),
  key: name().optional(),
  timeline: timeline(["ok", "partial", ...failureReasons]),
});

const moment = duration("0s");

const silenceSchema = settings({ from: moment, until: moment, match: matchSchema }).refine(
  ({ from, until }) => until > from,
  { path: ["until"], error: "a time after from" },
);

const acknowledgementSchema = settings({
  at: moment,
  rule: name(),
  server: word().optional(),
  sandbox: word().optional(),
  by: text().default("on-call"),
});

const expectationSchema = settings({
  at: moment,
  receiver: name().optional(),
  type: oneOf(["firing", "reminder", "acknowledged", "resolved"]),
  rule: name(),
  severity: oneOf(severities).optional(),
  servers: z.array(word(), "a list of ids").readonly().optional(),
  sandboxes: z.array(word(), "a list of ids").readonly().optional(),
  count: count(1, 1_000_000).optional(),
  reason: oneOf(["recovered", "gone", "silenced", "rule_removed"]).optional(),
  flapping: z.boolean("true or false").optional(),
  summary: text().optional(),
});
export type Expectation = z.output<typeof expectationSchema>;

const testSchema = settings({
  name: text(),
  every: duration("1ms").optional(),
  start: scalar("a time such as 2026-01-01T00:00:00Z", (value) => {
    const ms = typeof value === "string" ? Date.parse(value) : Number.NaN;
    return Number.isNaN(ms) ? undefined : ms;
  }).default(Date.UTC(2026, 0, 1)),
  until: moment.optional(),
  servers: z
    .array(serverSchema, "a list of servers")
    .superRefine(
      eachOnce("each server of a sandbox once", ({ region, key, sandbox, server }) =>
        JSON.stringify([region, key, sandbox, server]),
      ),
    )
    .readonly()
    .default([]),
  sandboxes: z
    .array(sandboxSchema, "a list of sandboxes")
    .superRefine(
      eachOnce("each sandbox once", ({ region, key, sandbox }) =>
        JSON.stringify([region, key, sandbox]),
      ),
    )
    .readonly()
    .default([]),
  targets: z
    .array(targetSchema, "a list of targets")
    .superRefine(
      eachOnce("one timeline for each target", ({ region, key }) => JSON.stringify([region, key])),
    )
    .readonly()
    .default([]),
  silences: z.array(silenceSchema, "a list of silences").readonly().default([]),
  acknowledge: z.array(acknowledgementSchema, "a list of incidents").readonly().default([]),
  expect: z
    .array(expectationSchema, "the list of all notifications; [] when there is none")
    .readonly(),
});
export type RuleTest = z.output<typeof testSchema>;

/** A file of tests for rules. Times are milliseconds from a test's first poll. */
export const testFileSchema = settings({
  config: text("the path of a configuration").optional(),
  rules: z.array(z.unknown(), "a list of rules, as in a configuration").optional(),
  receivers: z.array(z.unknown(), "a list of receivers, as in a configuration").optional(),
  tests: z.array(testSchema, "a list of tests").min(1, "at least one test").readonly(),
}).refine(
  ({ config, rules }) => (config === undefined) !== (rules === undefined),
  "either config (the path of a configuration) or rules (as in a configuration)",
);
export type TestFile = z.output<typeof testFileSchema>;
