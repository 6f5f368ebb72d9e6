import type { MaintenanceWindow } from "../alerts/silence.ts";
import { severities } from "../alerts/rule.ts";
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

export const matchSchema = settings({
  rule: named("Names of rules. A name without `*` must be configured, or be `receiver-failing`."),
  severity: severityPatterns
    .exactOptional()
    .meta({ description: "Severities of rules.", leftOut: "all" }),
  region: regionPatterns,
  key: keyPatterns,
  probe: named("Names of probes. A name without `*` must be configured."),
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
  });

export const maintenanceSchema = settings({
  name: name().describe("The name of the window. It must be unique."),
  start: cronExpression(startAllowed, false).describe(
    "When the window begins. A time in the hour that is skipped when clocks are set forward means the end of that hour. In an hour that comes twice the window begins once.",
  ),
  duration: duration("1m", "31d").describe("How long the window lasts."),
  time_zone: timeZone().prefault("UTC").describe("The time zone of `start`."),
  match: matchSchema.describe(
    "The incidents whose notifications are suppressed. They match every given field. At least one field is required.",
  ),
  reason: text()
    .optional()
    .meta({ description: "The reason, shown with the window.", leftOut: "none" }),
}).transform((window): MaintenanceWindow => ({
  name: window.name,
  start: window.start,
  timeZone: window.time_zone,
  durationMs: window.duration,
  match: window.match,
  reason: window.reason ?? null,
}));
