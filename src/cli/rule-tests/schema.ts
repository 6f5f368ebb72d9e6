import { z } from "zod";
import { count, duration, name, oneOf, scalar, settings, text } from "../../config/fields.ts";
import { failureReasons, statuses } from "../../fleet/model.ts";
import { severities } from "../../alerts/rule.ts";
import { parseTimeline } from "./timeline.ts";

/** What a poll can show of a server: a status, or that the listing lacks it. */
const serverWords = [...statuses, "gone"] as const;

/** How a poll of a target can end: with a whole listing, a partial one, or a failure. */
const targetWords = ["ok", "partial", ...failureReasons] as const;

const messageTypes = ["firing", "reminder", "acknowledged", "resolved"] as const;

const resolvedReasons = ["recovered", "gone", "silenced", "rule_removed"] as const;

function timeline<Word extends string>(words: readonly Word[]) {
  const allowed = `a timeline such as ${words[0]}*3 ${words[2]}*2, of ${words.join(", ")}`;
  return scalar(allowed, (value) =>
    typeof value === "string" ? parseTimeline(value, words) : undefined,
  );
}

/** Ids and names as text; a bare number is taken as it is written. */
function word() {
  return scalar("text", (value) => (String(value) === "" ? undefined : String(value)));
}

const words = z.array(word(), "a list of ids").readonly();

const serverSchema = settings({
  region: name().optional(),
  key: name().optional(),
  sandbox: word().default("box"),
  server: word(),
  name: word().optional(),
  benchmark: word().optional(),
  tags: z.array(word(), "a list of tags").readonly().default([]),
  timeline: timeline(serverWords),
});

const targetSchema = settings({
  region: name().optional(),
  key: name().optional(),
  timeline: timeline(targetWords),
});

const moment = duration("0s");

const patterns = z.union(
  [word().transform((one): readonly string[] => [one]), words],
  "a name or a list of names, * standing for any characters",
);

const silenceSchema = settings({
  from: moment,
  until: moment,
  match: settings({
    rule: patterns.exactOptional(),
    severity: patterns.exactOptional(),
    region: patterns.exactOptional(),
    key: patterns.exactOptional(),
    sandbox_id: patterns.exactOptional(),
    server_id: patterns.exactOptional(),
    server_name: patterns.exactOptional(),
    benchmark: patterns.exactOptional(),
    tag: patterns.exactOptional(),
  }).prefault({}),
});

const acknowledgementSchema = settings({
  at: moment,
  rule: name(),
  server: word().optional(),
  by: text().default("on-call"),
});

const expectationSchema = settings({
  at: moment,
  receiver: name().optional(),
  type: oneOf(messageTypes),
  rule: name(),
  severity: oneOf(severities).optional(),
  servers: words.optional(),
  count: count(1, 1_000_000).optional(),
  reason: oneOf(resolvedReasons).optional(),
  flapping: z.boolean("true or false").optional(),
  summary: text().optional(),
});

const testSchema = settings({
  name: text(),
  every: duration("1ms").optional(),
  start: scalar("a time such as 2026-01-01T00:00:00Z", (value) => {
    const ms = typeof value === "string" ? Date.parse(value) : Number.NaN;
    return Number.isNaN(ms) ? undefined : ms;
  }).default(Date.UTC(2026, 0, 1)),
  until: moment.optional(),
  servers: z.array(serverSchema, "a list of servers").readonly().default([]),
  targets: z.array(targetSchema, "a list of targets").readonly().default([]),
  silences: z.array(silenceSchema, "a list of silences").readonly().default([]),
  acknowledge: z.array(acknowledgementSchema, "a list of incidents").readonly().default([]),
  expect: z
    .array(expectationSchema, "the list of all notifications; [] when there is none")
    .readonly(),
});

/** A file of tests for rules. Times are milliseconds from a test's first poll. */
export const testFileSchema = settings({
  config: text("the path of a configuration").optional(),
  rules: z.array(z.unknown(), "a list of rules, as in a configuration").optional(),
  receivers: z.array(z.unknown(), "a list of receivers, as in a configuration").optional(),
  tests: z.array(testSchema, "a list of tests").min(1, "at least one test").readonly(),
});

export type RuleTest = z.output<typeof testSchema>;
export type Expectation = z.output<typeof expectationSchema>;
