import type { MaintenanceWindow } from "../core/maintenance.ts";
import { severities } from "../core/rule.ts";
import { readMatch } from "../core/written-match.ts";
import { duration, name, settings, text } from "./fields.ts";
import { benchmarkPatterns, keyPatterns, listOrOne, named, patternsSchema } from "./rule-fields.ts";
import { regionPatterns, serverNamePatterns, tagPatterns } from "./rule-fields.ts";
import { cronExpression, timeZone } from "./schedule-fields.ts";
import { orReference, textLike } from "./written.ts";

const startAllowed =
  "a cron expression of five fields, or six with seconds first, such as 0 2 * * SUN";

const severityPatterns = patternsSchema
  .refine(
    (patterns) =>
      patterns.every(
        (each) => each.includes("*") || severities.some((severity) => severity === each),
      ),
    { error: severities.join(", "), when: ({ issues }) => issues.length === 0 },
  )
  .meta(listOrOne({ anyOf: [...orReference({ enum: severities }).anyOf, textLike(/\*/)] }));

const matchSchema = settings({
  rule: named("Rules. One without `*` must be configured, or be `receiver-failing`."),
  severity: severityPatterns
    .exactOptional()
    .meta({ description: "Severities of rules.", leftOut: "all" }),
  region: regionPatterns,
  key: keyPatterns,
  probe: named("Probes. One without `*` must be configured."),
  sandbox_id: named("Ids of sandboxes."),
  server_id: named("Ids of servers."),
  server_name: serverNamePatterns,
  benchmark: benchmarkPatterns,
  tag: tagPatterns,
})
  .meta({ minProperties: 1 })
  .refine((match) => Object.keys(match).length > 0, {
    error: "at least one field: it would silence everything",
    when: ({ issues }) => issues.length === 0,
  })
  .transform(readMatch);

export const maintenanceSchema = settings({
  name: name().describe("By which the window is known. No other window has it."),
  start: cronExpression(startAllowed, false).describe(
    "When it begins. In the hour that is missing when clocks are set forward it begins at the end of that hour; in the one that comes twice it begins once.",
  ),
  duration: duration("1m", "31d").describe("How long it lasts."),
  time_zone: timeZone().prefault("UTC").describe("Whose clock `start` is of."),
  match: matchSchema.describe("What is not told; all that are given must fit, at least one is."),
  reason: text().optional().meta({ description: "Why, for whoever wonders.", leftOut: "none" }),
}).transform((window): MaintenanceWindow => ({
  name: window.name,
  start: window.start,
  timeZone: window.time_zone,
  durationMs: window.duration,
  match: window.match,
  reason: window.reason ?? null,
}));
