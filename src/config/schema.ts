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
      "The base address of the service in this region, to which the paths of operations are appended. It must be https, so that API keys are not sent in the clear, unless it is a loopback address or `allow_http: true` is set.",
    ),
  allow_http: flag()
    .prefault(false)
    .describe("Allows a `base_url` with http that is not a loopback address."),
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
      "The name of the key in metrics, messages, commands and the API. It must be unique.",
    ),
    api_key: scalar(apiKeyAllowed, (value) =>
      typeof value === "string" && /^[\x21-\x7e]+$/.test(value) ? value : undefined,
    )
      .meta(headerText)
      .describe("The API key. It must not be configured under two names."),
    regions: namesOf("region")
      .min(1, "at least one region; omit the setting for every region")
      .optional()
      .meta({
        description: "The regions in which the key is used, from `regions`.",
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
  ...scheduleSettings("When each target is polled", everyHalfMinute),
  time_zone: timeZone()
    .prefault("UTC")
    .describe(
      "The time zone of the cron expressions of polls and probes. The machine's own zone has no effect.",
    ),
  timeout: duration("100ms", "1h")
    .prefault("10s")
    .describe(
      "The longest time that one request may take, to the last byte of the response. It also applies to probes and look-ups.",
    ),
  rate_limit: settings({
    requests: count(1, 1_000_000)
      .prefault(2)
      .describe("The number of requests that may be sent in each `per`."),
    per: duration("1ms", "7d")
      .prefault("1s")
      .describe("The period in which at most `requests` requests are sent."),
  })
    .transform((limit) => ({ requests: limit.requests, perMs: limit.per }))
    .prefault({})
    .describe(
      "The rate limit of each key, over all calls made with it: polls, retries, probes and look-ups. Set it to the limit of your account.",
    ),
  max_body: maxBodySchema
    .prefault("64MiB")
    .describe(
      "The largest decoded response that is accepted. A larger one is a failed poll. A listing has about 400 bytes per server.",
    ),
  stale_after: count(1, 1_000_000)
    .prefault(3)
    .describe(
      "The number of consecutive failed polls of a target after which the series of its servers, and their totals, are no longer exported.",
    ),
  gone_after: count(1, 1_000_000)
    .prefault(2)
    .describe("The number of complete listings without a server after which the server is gone."),
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
      "The address of the status page, the metrics, the health checks and the API. Port 0 chooses a free port. There is no authentication: anyone who can reach the address can add silences and acknowledge incidents.",
    ),
  allowed_hosts: z
    .array(
      scalar("a name such as sandwatch.example.com, without a port", (value) =>
        typeof value === "string" && hostPattern.test(value) ? value.toLowerCase() : undefined,
      ).meta(textLike(hostPattern)),
      "a list of names",
    )
    .prefault([])
    .describe(
      "Host names by which the API may be called, in addition to IP addresses and localhost.",
    ),
}).transform((http) => ({ ...http.listen, allowedHosts: http.allowed_hosts }));

const logSchema = settings({
  level: oneOf(["trace", "debug", "info", "warn", "error", "fatal", "silent"])
    .prefault("info")
    .describe("The lowest level that is logged."),
  format: oneOf(["json", "pretty"]).optional().meta({
    description: "`json` writes one JSON object per line; `pretty` writes lines for people.",
    leftOut: "`pretty` on a terminal, otherwise `json`",
  }),
});

const metricsSchema = settings({
  per_server: flag()
    .prefault(true)
    .describe("Whether series per server and per sandbox are exported. Totals always are."),
}).transform((metrics) => ({ perServer: metrics.per_server }));

/** The whole file, each setting for itself. What several settings say together: `crossChecks`. */
export const settingsSchema = settings({
  regions: regionsSchema.describe(
    "The watched deployments of the service, by name. The name is used as a label.",
  ),
  keys: z
    .array(keySchema, "a list of keys")
    .min(1, "at least one key")
    .describe("The API keys whose sandboxes are watched."),
  poll: pollSchema.prefault({}).describe("How listings are polled."),
  probes: z
    .array(probeSchema, "a list of probes")
    .prefault([])
    .describe("Scheduled calls of single operations, and what is expected of their responses."),
  store: settings({
    path: text("the path of a file")
      .prefault("data/sandwatch.db")
      .describe(
        "The path of the SQLite database. Each sandwatch needs its own. A relative path is resolved against the working directory.",
      ),
  })
    .prefault({})
    .describe("Where sandwatch stores its data."),
  history: historySchema
    .prefault({})
    .describe("How long history is kept. Space that is freed is reused."),
  http: httpSchema.prefault({}).describe("The HTTP server."),
  log: logSchema.prefault({}).describe("The log, which is written to standard output."),
  metrics: metricsSchema.prefault({}).describe("What is exported to Prometheus."),
  alerts: settings({
    rules: z.array(ruleSchema, "a list of rules").optional().meta({
      description: "The alert rules. An empty list disables alerts.",
      leftOut: "`server-error`, `target-down` and `target-partial`, to every receiver",
    }),
    receivers: z
      .array(receiverSchema, "a list of receivers")
      .prefault([])
      .describe("Where notifications are sent."),
    maintenance: z
      .array(maintenanceSchema, "a list of maintenance windows")
      .prefault([])
      .describe("Recurring maintenance windows, which suppress notifications."),
    outbound: outboundSchema
      .prefault({})
      .describe(
        "The networks in which receivers may be. Every address is checked when a connection to it is opened. Link-local addresses, multicast addresses and the metadata services of clouds are always denied.",
      ),
  })
    .prefault({})
    .describe("Which incidents go to which receivers."),
});

/** What the file says, with the defaults that need no knowledge of the rest of it. */
export type Settings = z.output<typeof settingsSchema>;
