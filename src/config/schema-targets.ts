import { z } from "zod";
import { Secret } from "../lib/secret.ts";
import { baseUrlLike, parseBaseUrl } from "./address.ts";
import {
  allowHttp,
  count,
  duration,
  headerPattern,
  matching,
  name,
  nameAllowed,
} from "./fields.ts";
import {
  namePattern,
  namesOf,
  refuse,
  refuseUnencrypted,
  scalar,
  settings,
  textLike,
} from "./fields.ts";
import { textOf } from "./fields.ts";
import { routeSettings } from "./schema-outbound.ts";
import { labelsSchema } from "./schema-routing.ts";
import { oneSchedule, refuseTwoSchedules, scheduleSettings } from "./schedule-fields.ts";
import { timeZone, toSchedule } from "./schedule-fields.ts";

const regionSchema = settings({
  /** Without a trailing slash. */
  baseUrl: textOf(
    "an https address without user, password, query and fragment, such as https://us.example.com/api",
    baseUrlLike,
    parseBaseUrl,
  ).describe(
    "The base address of the service in this region, to which the paths of operations are appended. It must be https, so that API keys are not sent in the clear, unless it is a loopback address or `allow_http: true` is set.",
  ),
  allowHttp: allowHttp("base_url"),
  ...routeSettings("`outbound.proxy_url`", "`outbound.ca`"),
}).transform(({ allowHttp: isAllowed, ...region }, context) => {
  refuseUnencrypted(context, region.baseUrl, isAllowed, "base_url");
  if (region.proxyUrl instanceof Secret && !region.baseUrl.startsWith("https:")) {
    const found = "a proxy for a base_url with http, which is reached directly";
    refuse(context, "none, or base_url with https", { path: ["proxy_url"], found });
  }
  return region;
});

/** As a map from the start: zod would drop a region named `__proto__` from a record in silence. */
export const regionsSchema = z.preprocess(
  (value) =>
    typeof value === "object" && value !== null && !Array.isArray(value)
      ? new Map(Object.entries(value))
      : value,
  z
    .map(z.string().regex(namePattern, nameAllowed), regionSchema, {
      error: "a mapping from the names of regions to their settings",
    })
    .refine((regions) => regions.size > 0, "at least one region")
    .meta({
      minProperties: 1,
      propertyNames: { pattern: namePattern.source, errorMessage: nameAllowed },
    }),
);

export const keySchema = settings({
  name: name().describe(
    "The name of the key in metrics, messages, commands and the API. It must be unique.",
  ),
  apiKey: matching(
    "an API key of visible ASCII characters without blanks (numbers quoted), or api_key_file instead",
    headerPattern,
  ).describe("The API key. It must not be configured under two names."),
  regions: namesOf("region")
    .min(1, "at least one region; omit the setting for every region")
    .optional()
    .meta({
      description: "The regions in which the key is used, from `regions`.",
      defaultText: "every region",
    }),
  labels: labelsSchema
    .prefault({})
    .describe(
      "Labels of the key, such as `team: search`: in messages and metrics, and to match receivers and filter by.",
    ),
});

const unitBytes = new Map([
  ["", 1],
  ["B", 1],
  ["kB", 1e3],
  ["KB", 1e3],
  ["MB", 1e6],
  ["GB", 1e9],
  ["KiB", 2 ** 10],
  ["MiB", 2 ** 20],
  ["GiB", 2 ** 30],
]);

const sizePattern = /^(\d+)(B|[kKMG]B|[KMG]iB)?$/;

const maxBodySchema = scalar("a size such as 64MiB, 10MB or 512KiB, from 1KiB to 1GiB", (value) => {
  const [, number, unit = ""] = sizePattern.exec(String(value)) ?? [];
  const bytes = Number(number) * (unitBytes.get(unit) ?? Number.NaN);
  return bytes >= 2 ** 10 && bytes <= 2 ** 30 ? bytes : undefined;
}).meta({
  ...textLike(sizePattern),
  type: ["string", "integer"],
  minimum: 2 ** 10,
  maximum: 2 ** 30,
});

const everyHalfMinute = "*/30 * * * * *";

export const pollSchema = settings({
  ...scheduleSettings("When each target is polled", everyHalfMinute),
  timeZone: timeZone()
    .prefault("UTC")
    .describe(
      "The time zone of the cron expressions of polls and probes. The machine's own zone has no effect.",
    ),
  timeoutMs: duration("100ms", "1h")
    .prefault("10s")
    .describe(
      "The longest time that one request may take, to the last byte of the response. It also applies to probes and look-ups.",
    ),
  rateLimit: settings({
    requests: count(1, 1_000_000)
      .prefault(2)
      .describe("The number of requests that may be sent in each `per`."),
    perMs: duration("1ms", "7d")
      .prefault("1s")
      .describe("The period in which at most `requests` requests are sent."),
  })
    .prefault({})
    .describe(
      "The rate limit of each key, over all calls made with it: polls, retries, probes and look-ups. Set it to the limit of your account.",
    ),
  maxBodyBytes: maxBodySchema
    .prefault("64MiB")
    .describe(
      "The largest decoded response that is accepted. A larger one is a failed poll. A listing has about 400 bytes per server.",
    ),
  staleAfter: count(1, 1_000_000)
    .prefault(3)
    .describe(
      "The number of consecutive failed polls of a target after which the series of its servers, and their totals, are no longer exported.",
    ),
  goneAfter: count(1, 1_000_000)
    .prefault(2)
    .describe(
      "The number of consecutive complete listings without a server after which the server is gone.",
    ),
})
  .meta({ allOf: [oneSchedule] })
  .superRefine(refuseTwoSchedules)
  .transform(({ schedule, everyMs, ...poll }) => ({
    ...poll,
    schedule: toSchedule({ schedule, everyMs }, poll.timeZone, {
      kind: "cron",
      expression: everyHalfMinute,
      timeZone: poll.timeZone,
    }),
  }));
