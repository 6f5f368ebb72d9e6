import { duration, name, optional, refuse, settings, text } from "./fields.ts";
import { patternsOf, probePatterns } from "./rule-fields.ts";
import { serverNamePatterns, serverPatterns, targetPatterns } from "./rule-fields.ts";
import { cronExpression, timeZone } from "./schedule-fields.ts";
import { ruleAndSeverity } from "./schema-routing.ts";

const startAllowed =
  "a cron expression of five fields, or six with seconds first, such as 0 2 * * SUN";

export const matchSchema = settings({
  ...ruleAndSeverity,
  ...targetPatterns,
  probe: probePatterns,
  sandbox_id: patternsOf("Ids of sandboxes."),
  server_id: patternsOf("Ids of servers."),
  server_name: serverNamePatterns,
  ...serverPatterns,
})
  .meta({ minProperties: 1 })
  .transform((match, context) => {
    if (Object.keys(match).length > 0) return match;
    return refuse(context, "at least one field; otherwise everything would be silenced");
  });

export const maintenanceSchema = settings({
  name: name().describe("The name of the window. It must be unique."),
  start: cronExpression(startAllowed, false).describe(
    "When the window begins. A time in an hour that is skipped when clocks are set forward means the end of that hour. In a repeated hour, the window begins once.",
  ),
  durationMs: duration("1m", "31d").describe("How long the window lasts."),
  timeZone: timeZone().prefault("UTC").describe("The time zone of `start`."),
  match: matchSchema.describe(
    "The incidents whose notifications are suppressed. They match every given field. At least one field is required.",
  ),
  reason: optional(text(), "none", "The reason, shown with the window."),
});
