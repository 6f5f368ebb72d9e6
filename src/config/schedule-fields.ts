import { z } from "zod";
import type { Schedule } from "../fleet/schedule.ts";
import { parseCronTimes, wrongCronField } from "../lib/cron-times.ts";
import { isTimeZone } from "../lib/zone-offset.ts";
import { duration, notBoth, refuse, textLike, textOf } from "./fields.ts";

const cronAllowed =
  "a cron expression, preferably of six fields with seconds first, such as */30 * * * * *";

/** Whatever comes at all came in the years before it. */
const anyMomentMs = Date.UTC(2024, 11, 31);

/**
 * The one check of cron expressions, wherever one is written.
 *
 * @param isNicknamed whether `@daily` and its like are taken
 * @param named words that stand for expressions
 */
export function cronExpression(
  allowed: string,
  isNicknamed: boolean,
  named: Readonly<Record<string, string>> = {},
) {
  const words = Object.keys(named);
  const others = [...(isNicknamed ? [String.raw`@\S+`] : []), ...words].map((word) => `${word}|`);
  return z
    .unknown()
    .transform((value, context): string => {
      if (typeof value !== "string") return refuse(context, allowed, { known: words });
      const meant = words.includes(value) ? named[value] : undefined;
      if (meant !== undefined) return meant;
      const fault = cronFault(value, isNicknamed);
      return fault === null ? value : refuse(context, allowed + fault, { known: words });
    })
    .meta({
      // The contents of the fields are not checked.
      ...textLike(new RegExp(String.raw`^\s*(?:${others.join("")}\S+(?:\s+\S+){4,5})\s*$`)),
      errorMessage: allowed,
    });
}

/** The text to add to the error message; null: the expression is valid. */
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

/** A place for abbreviations of zones, which say no rules of daylight saving. */
const placesByAbbreviation: ReadonlyMap<string, string> = new Map([
  ["BST", "Europe/London"],
  ["CEST", "Europe/Berlin"],
  ["EEST", "Europe/Athens"],
  ["EDT", "America/New_York"],
  ["CDT", "America/Chicago"],
  ["MDT", "America/Denver"],
  ["PDT", "America/Los_Angeles"],
  ["PST", "America/Los_Angeles"],
  ["CST", "America/Chicago"],
  ["JST", "Asia/Tokyo"],
  ["IST", "Asia/Kolkata"],
  ["SGT", "Asia/Singapore"],
  ["AEST", "Australia/Sydney"],
]);

const zones = ["UTC", ...Intl.supportedValuesOf("timeZone")];

/** The zone of an abbreviation, of a city, or of an offset: that of UTC+2 is called Etc/GMT-2. */
function zoneMeant(name: string): string | undefined {
  const [, sign, hours] = /^(?:UTC|GMT)([+-])0?(\d{1,2})(?::?00)?$/i.exec(name) ?? [];
  if (hours !== undefined) return `Etc/GMT${sign === "+" ? "-" : "+"}${hours}`;
  const isCity = (zone: string) => zone.toLowerCase().endsWith(`/${name.toLowerCase()}`);
  return placesByAbbreviation.get(name.toUpperCase()) ?? zones.find(isCity);
}

export function timeZone() {
  return textOf(
    "the name of a time zone, such as Europe/Berlin or UTC",
    /^[A-Za-z][\w+/-]*$/,
    (name) => (isTimeZone(name) ? name : undefined),
    zones,
    zoneMeant,
  );
}

/** When something is done again and again. */
export const scheduleSettings = (what: string, usual: string) => ({
  schedule: cronExpression(cronAllowed, true)
    .optional()
    .meta({
      description: `${what}, in the time zone \`poll.time_zone\`. Each target has a fixed offset from it, so that targets do not start at the same time.`,
      defaultText: `\`${usual}\`, unless \`every\` is set`,
    }),
  everyMs: duration("1s", "7d")
    .optional()
    .meta({
      description: `${what}, as an interval. Cannot be combined with \`schedule\`.`,
      defaultText: "none: `schedule` applies",
    }),
});

export const oneSchedule = notBoth("schedule", "every");

interface WrittenSchedule {
  readonly schedule?: string | undefined;
  readonly everyMs?: number | undefined;
}

export function refuseTwoSchedules(
  { schedule, everyMs }: WrittenSchedule,
  context: z.RefinementCtx,
): void {
  if (schedule === undefined || everyMs === undefined) return;
  refuse(context, "one of the two", { path: ["every"], found: "schedule as well" });
}

export function toSchedule(
  { schedule, everyMs }: WrittenSchedule,
  zone: string,
  usual: Schedule,
): Schedule {
  if (everyMs !== undefined) return { kind: "every", ms: everyMs };
  return schedule === undefined ? usual : { kind: "cron", expression: schedule, timeZone: zone };
}
