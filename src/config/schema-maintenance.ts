import { z } from "zod";
import type { MaintenanceWindow } from "../core/maintenance.ts";
import { severities } from "../core/rule.ts";
import { readMatch } from "../core/written-match.ts";
import { parseCronTimes } from "../platform/cron-times.ts";
import { duration, name, scalar, settings, text } from "./fields.ts";
import { benchmarkPatterns, keyPatterns, listOrOne, named, patternsSchema } from "./rule-fields.ts";
import { regionPatterns, serverNamePatterns, tagPatterns } from "./rule-fields.ts";
import { orReference, textLike } from "./written.ts";

const startAllowed =
  "a cron expression of five fields, or six with seconds first, such as 0 2 * * SUN";

/** In UTC: what never comes there comes nowhere. */
const startSchema = z
  .unknown()
  .transform((value, context): string => {
    const times = typeof value === "string" ? parseCronTimes(value, "UTC") : undefined;
    if (typeof value === "string" && (times?.latest(anyMomentMs) ?? null) !== null) return value;
    const message = times ? `${startAllowed}; at this time it would never open` : startAllowed;
    context.addIssue({ code: "custom", message });
    return z.NEVER;
  })
  .meta({ ...textLike(/^\s*\S+(?:\s+\S+){4,5}\s*$/), errorMessage: startAllowed });

/** Whatever comes at all came in the years before it. */
const anyMomentMs = Date.UTC(2024, 11, 31);

const timeZones = ["UTC", ...Intl.supportedValuesOf("timeZone")];

const timeZoneSchema = scalar(
  "the name of a time zone, such as Europe/Berlin or UTC",
  (value) => (typeof value === "string" && isTimeZone(value) ? value : undefined),
  timeZones,
).meta(textLike(/^[A-Za-z][\w+/-]*$/));

/** Also names that the list does not have, which are older ones for the same zones. */
function isTimeZone(value: string): boolean {
  // An offset such as +01:00 is taken too, but would be wrong for half of the year.
  if (!/^[A-Za-z]/.test(value)) return false;
  try {
    return new Intl.DateTimeFormat("en", { timeZone: value }).resolvedOptions().timeZone !== "";
  } catch {
    return false;
  }
}

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
  start: startSchema.describe(
    "When it begins. In the hour that is missing when clocks are set forward it begins at the end of that hour; in the one that comes twice it begins once.",
  ),
  duration: duration("1m", "31d").describe("How long it lasts."),
  time_zone: timeZoneSchema.prefault("UTC").describe("Whose clock `start` is of."),
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
