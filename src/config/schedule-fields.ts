import { z } from "zod";
import type { Schedule } from "../fleet/schedule.ts";
import { parseCronTimes, wrongCronField } from "../lib/cron-times.ts";
import { isTimeZone } from "../lib/zone-offset.ts";
import { duration, scalar } from "./fields.ts";
import { notBoth, textLike } from "./written.ts";

const cronAllowed =
  "a cron expression, preferably of six fields with seconds first, such as */30 * * * * *";

/** Whatever comes at all came in the years before it. */
const anyMomentMs = Date.UTC(2024, 11, 31);

/**
 * The one check of cron expressions, wherever one is written.
 *
 * @param allowed what is asked for
 * @param isNicknamed whether `@daily` and its like are taken
 */
export function cronExpression(allowed: string, isNicknamed: boolean) {
  const nickname = isNicknamed ? String.raw`@\S+|` : "";
  return z
    .unknown()
    .transform((value, context): string => {
      const fault = typeof value === "string" ? cronFault(value, isNicknamed) : "";
      if (typeof value === "string" && fault === null) return value;
      context.addIssue({ code: "custom", message: allowed + (fault ?? "") });
      return z.NEVER;
    })
    .meta({
      // What the fields hold is not looked at.
      ...textLike(new RegExp(String.raw`^\s*(?:${nickname}\S+(?:\s+\S+){4,5})\s*$`)),
      errorMessage: allowed,
    });
}

/** What is to be added to the message; null: the expression is right. */
function cronFault(expression: string, isNicknamed: boolean): string | null {
  if (!isNicknamed && expression.includes("@")) return "";
  const times = parseCronTimes(expression, "UTC");
  if (!times) {
    const field = wrongCronField(expression);
    return field === undefined ? "" : ` (wrong here: ${field})`;
  }
  // In UTC: what never comes there comes nowhere.
  return times.latest(anyMomentMs) === null ? "; there is no such day" : null;
}

const timeZones = ["UTC", ...Intl.supportedValuesOf("timeZone")];

export function timeZone(): ReturnType<typeof scalar<string>> {
  return scalar(
    "the name of a time zone, such as Europe/Berlin or UTC",
    (value) => (typeof value === "string" && isTimeZone(value) ? value : undefined),
    timeZones,
  ).meta(textLike(/^[A-Za-z][\w+/-]*$/));
}

/** When something is done again and again: `oneSchedule` of the two. */
export const scheduleSettings = (what: string, usual: string) => ({
  schedule: cronExpression(cronAllowed, true)
    .optional()
    .meta({
      description: `${what}, in the time zone \`poll.time_zone\`. Each target has a fixed offset from it, so that targets do not start at the same time.`,
      leftOut: `\`${usual}\`, unless \`every\` is set`,
    }),
  every: duration("1s", "7d")
    .optional()
    .meta({
      description: `${what}, as an interval. Cannot be combined with \`schedule\`.`,
      leftOut: "none: `schedule` applies",
    }),
});

export const oneSchedule = notBoth("schedule", "every");

/** What `scheduleSettings` were given. */
export interface WrittenSchedule {
  readonly schedule?: string | undefined;
  readonly every?: number | undefined;
}

export function toSchedule({ schedule, every }: WrittenSchedule, zone: string): Schedule | null {
  if (every !== undefined) return { kind: "every", ms: every };
  return schedule === undefined ? null : { kind: "cron", expression: schedule, timeZone: zone };
}
