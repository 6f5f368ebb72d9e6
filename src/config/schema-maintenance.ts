import { z } from "zod";
import type { MaintenanceWindow } from "../core/maintenance.ts";
import { severities } from "../core/rule.ts";
import { readMatch } from "../core/written-match.ts";
import { parseCronTimes } from "../platform/cron-times.ts";
import { duration, name, scalar, settings, text } from "./fields.ts";
import { patternsSchema } from "./rule-fields.ts";

const startAllowed =
  "a cron expression of five fields, or six with seconds first, such as 0 2 * * SUN";

/** In UTC: what never comes there comes nowhere. */
const startSchema = z.unknown().transform((value, context): string => {
  const times = typeof value === "string" ? parseCronTimes(value, "UTC") : undefined;
  if (typeof value === "string" && (times?.latest(anyMomentMs) ?? null) !== null) return value;
  const message = times ? `${startAllowed}; at this time it would never open` : startAllowed;
  context.addIssue({ code: "custom", message });
  return z.NEVER;
});

/** Whatever comes at all came in the years before it. */
const anyMomentMs = Date.UTC(2024, 11, 31);

const timeZones = ["UTC", ...Intl.supportedValuesOf("timeZone")];

const timeZoneSchema = scalar(
  "the name of a time zone, such as Europe/Berlin or UTC",
  (value) => (typeof value === "string" && isTimeZone(value) ? value : undefined),
  timeZones,
);

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

const severityPatterns = patternsSchema.refine(
  (patterns) =>
    patterns.every(
      (each) => each.includes("*") || severities.some((severity) => severity === each),
    ),
  { error: severities.join(", "), when: ({ issues }) => issues.length === 0 },
);

const matchSchema = settings({
  rule: patternsSchema.exactOptional(),
  severity: severityPatterns.exactOptional(),
  region: patternsSchema.exactOptional(),
  key: patternsSchema.exactOptional(),
  probe: patternsSchema.exactOptional(),
  sandbox_id: patternsSchema.exactOptional(),
  server_id: patternsSchema.exactOptional(),
  server_name: patternsSchema.exactOptional(),
  benchmark: patternsSchema.exactOptional(),
  tag: patternsSchema.exactOptional(),
})
  .refine((match) => Object.keys(match).length > 0, {
    error: "at least one field: it would silence everything",
    when: ({ issues }) => issues.length === 0,
  })
  .transform(readMatch);

export const maintenanceSchema = settings({
  name: name(),
  start: startSchema,
  duration: duration("1m", "31d"),
  time_zone: timeZoneSchema.default("UTC"),
  match: matchSchema,
  reason: text().optional(),
}).transform((window): MaintenanceWindow => ({
  name: window.name,
  start: window.start,
  timeZone: window.time_zone,
  durationMs: window.duration,
  match: window.match,
  reason: window.reason ?? null,
}));
