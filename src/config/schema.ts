import { z } from "zod";
import { listenPattern, parseBaseUrl, parseListenAddress } from "./address.ts";

import { count, duration, flag, name, nameAllowed, namePattern, namesOf } from "./fields.ts";
import { oneOf, scalar, settings, text } from "./fields.ts";
import { oneSchedule, scheduleSettings, timeZone, toSchedule } from "./schedule-fields.ts";
import { historySchema } from "./schema-history.ts";
import { maintenanceSchema } from "./schema-maintenance.ts";
import { outboundSchema } from "./schema-outbound.ts";
import { probeSchema } from "./schema-probes.ts";
import { receiverSchema } from "./schema-receivers.ts";
import { ruleSchema } from "./schema-rules.ts";
import { parseSize, sizePattern } from "./size.ts";
import { baseAddress, headerText, textLike } from "./written.ts";

const baseUrlAllowed =
  "an https address without user, password, query and fragment, such as https://us.example.com/api";

const regionSchema = settings({
  base_url: scalar(baseUrlAllowed, (value) =>
    typeof value === "string" ? parseBaseUrl(value) : undefined,
  )
    .meta(baseAddress)
    .describe(
      "The base address of the service there; the paths of operations are put after it. One that is not https is refused, unless it is a loopback address or `allow_http: true` stands beside it: keys would travel in the clear.",
    ),
  allow_http: flag()
    .prefault(false)
    .describe("Whether `base_url` may be http although it is no loopback address."),
}).transform((region) => ({ baseUrl: region.base_url }));

/** As a map from the start: zod would drop a region named `__proto__` from a record in silence. */
const regionsSchema = z.preprocess(
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

/** It is sent in a header, where anything but visible ASCII is refused or cut. */
const apiKeyAllowed =
  "an API key of visible ASCII characters without blanks (numbers quoted), or api_key_file beside it";

const keySchema = settings(
  {
    name: name().describe(
      "By which the key is known everywhere else: in metrics, messages and commands. No other key has it.",
    ),
    api_key: scalar(apiKeyAllowed, (value) =>
      typeof value === "string" && /^[\x21-\x7e]+$/.test(value) ? value : undefined,
    )
      .meta(headerText)
      .describe("The API key. The same one cannot stand under two names."),
    regions: namesOf("region")
      .min(1, "at least one region; left out: every region")
      .optional()
      .meta({
        description: "Where it is used: names out of `regions`, each once.",
        leftOut: "every region",
      }),
  },
  ["api_key_file"],
);

const everyHalfMinute = "*/30 * * * * *";

const maxBodyAllowed = "a size such as 64MiB, 10MB or 512KiB, from 1KiB to 1GiB";

const maxBodySchema = scalar(maxBodyAllowed, (value) => {
  const bytes = parseSize(String(value));
  return bytes !== undefined && bytes >= 2 ** 10 && bytes <= 2 ** 30 ? bytes : undefined;
}).meta({
  ...textLike(sizePattern),
  type: ["string", "integer"],
  minimum: 2 ** 10,
  maximum: 2 ** 30,
});

const pollSchema = settings({
  ...scheduleSettings("When every target is polled", everyHalfMinute),
  time_zone: timeZone()
    .prefault("UTC")
    .describe(
      "The time zone in which cron expressions of polls and probes run, whatever the zone of the machine is.",
    ),
  timeout: duration("100ms", "1h")
    .prefault("10s")
    .describe("How long one request may take, to its last byte. Probes and look-ups have it too."),
  rate_limit: settings({
    requests: count(1, 1_000_000).prefault(2).describe("How many requests may leave in `per`."),
    per: duration("1ms", "7d").prefault("1s").describe("In which time."),
  })
    .transform((limit) => ({ requests: limit.requests, perMs: limit.per }))
    .prefault({})
    .describe(
      "What the service allows each key, over all calls made with it: polls, retries, probes and look-ups. Set it to what your account has.",
    ),
  max_body: maxBodySchema
    .prefault("64MiB")
    .describe(
      "How long an answer may be, once it is decoded; a longer one is a failed poll. A listing takes about 400 bytes a server.",
    ),
  stale_after: count(1, 1_000_000)
    .prefault(3)
    .describe(
      "After how many failed polls of a target in a row the series of its servers are withheld, their counts too.",
    ),
  gone_after: count(1, 1_000_000)
    .prefault(2)
    .describe("After how many complete listings without a server it counts as gone."),
})
  .meta({ allOf: [oneSchedule] })
  .transform((poll) => ({
    timeZone: poll.time_zone,
    schedule: toSchedule(poll, poll.time_zone) ?? {
      kind: "cron" as const,
      expression: everyHalfMinute,
      timeZone: poll.time_zone,
    },
    timeoutMs: poll.timeout,
    rateLimit: poll.rate_limit,
    maxBodyBytes: poll.max_body,
    staleAfter: poll.stale_after,
    goneAfter: poll.gone_after,
  }));

const hostPattern = /^[A-Za-z0-9](?:[A-Za-z0-9_.-]{0,251}[A-Za-z0-9])?$/;

const httpSchema = settings({
  listen: scalar(
    "HOST:PORT, such as 127.0.0.1:9740, [::1]:9740, or :9740 for every interface",
    (value) => (typeof value === "string" ? parseListenAddress(value) : undefined),
  )
    .meta(textLike(listenPattern))
    .prefault("127.0.0.1:9740")
    .describe(
      "Where the status page, the metrics, health and the API are served; port 0 takes a free one. There is no log-in: whoever reaches it may silence and acknowledge.",
    ),
  allowed_hosts: z
    .array(
      scalar("a name such as sandwatch.example.com, without a port", (value) =>
        typeof value === "string" && hostPattern.test(value) ? value.toLowerCase() : undefined,
      ).meta(textLike(hostPattern)),
      "a list of names",
    )
    .prefault([])
    .describe("Names by which the API may be called, beside IP addresses and localhost."),
}).transform((http) => ({ ...http.listen, allowedHosts: http.allowed_hosts }));

const logSchema = settings({
  level: oneOf(["trace", "debug", "info", "warn", "error", "fatal", "silent"])
    .prefault("info")
    .describe("What is too unimportant to be logged is not."),
  format: oneOf(["json", "pretty"]).optional().meta({
    description: "A JSON object a line, or lines for people.",
    leftOut: "`pretty` on a terminal, otherwise `json`",
  }),
});

const metricsSchema = settings({
  per_server: flag()
    .prefault(true)
    .describe("Whether there are series of single servers and sandboxes; the totals always are."),
}).transform((metrics) => ({ perServer: metrics.per_server }));

/** The whole file, each setting for itself. What several settings say together: `crossChecks`. */
export const settingsSchema = settings({
  regions: regionsSchema.describe(
    "The deployments of the service that are watched, by name. Any name will do; it becomes a label.",
  ),
  keys: z
    .array(keySchema, "a list of keys")
    .min(1, "at least one key")
    .describe("The API keys whose sandboxes are watched."),
  poll: pollSchema.prefault({}).describe("How listings are fetched."),
  probes: z
    .array(probeSchema, "a list of probes")
    .prefault([])
    .describe(
      "Calls of single operations on schedules of their own, and what must hold of the answers.",
    ),
  store: settings({
    path: text("the path of a file")
      .prefault("data/sandwatch.db")
      .describe(
        "The database, one for each sandwatch. A relative path is taken from the working directory.",
      ),
  })
    .prefault({})
    .describe("Where everything is kept."),
  history: historySchema
    .prefault({})
    .describe("For how long what is kept. The space of what goes is used again."),
  http: httpSchema.prefault({}).describe("What is served."),
  log: logSchema.prefault({}).describe("What is written to standard output."),
  metrics: metricsSchema.prefault({}).describe("What Prometheus gets."),
  alerts: settings({
    rules: z.array(ruleSchema, "a list of rules").optional().meta({
      description: "What is told; an empty list: nothing.",
      leftOut: "`server-error`, `target-blind` and `target-partial`, to every receiver",
    }),
    receivers: z
      .array(receiverSchema, "a list of receivers")
      .prefault([])
      .describe("Where it is told."),
    maintenance: z
      .array(maintenanceSchema, "a list of maintenance windows")
      .prefault([])
      .describe("When what is not told, again and again."),
    outbound: outboundSchema
      .prefault({})
      .describe(
        "Where receivers may be: every address to which a host resolves is checked as it is connected to. Link-local and multicast addresses and the metadata services of clouds are always denied.",
      ),
  })
    .prefault({})
    .describe("Who is told of what."),
});

/** What the file says, with the defaults that need no knowledge of the rest of it. */
export type Settings = z.output<typeof settingsSchema>;
