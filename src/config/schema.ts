import { z } from "zod";
import type { Schedule } from "../core/schedule.ts";
import { parseBaseUrl, parseListenAddress } from "./address.ts";

import { count, duration, flag, name, nameAllowed, namePattern } from "./fields.ts";
import { oneOf, scalar, settings, text } from "./fields.ts";
import { scheduleSettings } from "./schedule-fields.ts";
import { historySchema } from "./schema-history.ts";
import { maintenanceSchema } from "./schema-maintenance.ts";
import { outboundSchema } from "./schema-outbound.ts";
import { probeSchema } from "./schema-probes.ts";
import { receiverSchema } from "./schema-receivers.ts";
import { ruleSchema } from "./schema-rules.ts";
import { parseSize } from "./size.ts";

const baseUrlAllowed =
  "an https address without user, password, query and fragment, such as https://us.example.com/api";

const regionSchema = settings({
  base_url: scalar(baseUrlAllowed, (value) =>
    typeof value === "string" ? parseBaseUrl(value) : undefined,
  ),
  allow_http: flag().default(false),
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
    .refine((regions) => regions.size > 0, "at least one region"),
);

/** It is sent in a header, where anything but visible ASCII is refused or cut. */
const apiKeyAllowed = "an API key without blanks and control characters, or api_key_file beside it";

const keySchema = settings(
  {
    name: name(),
    api_key: scalar(apiKeyAllowed, (value) =>
      typeof value === "string" && /^[\x21-\x7e]+$/.test(value) ? value : undefined,
    ),
    regions: z
      .array(text("the name of a configured region"), "a list of regions")
      .min(1, "at least one region; left out: every region")
      .optional(),
  },
  ["api_key_file"],
);

const everyHalfMinute: Schedule = { kind: "cron", expression: "*/30 * * * * *" };

const maxBodyAllowed = "a size such as 64MiB, 10MB or 512KiB, from 1KiB to 1GiB";

const maxBodySchema = scalar(maxBodyAllowed, (value) => {
  const bytes = parseSize(String(value));
  return bytes !== undefined && bytes >= 2 ** 10 && bytes <= 2 ** 30 ? bytes : undefined;
});

const pollSchema = settings({
  ...scheduleSettings,
  timeout: duration("100ms", "1h").default(10_000),
  rate_limit: settings({
    requests: count(1, 1_000_000).default(2),
    per: duration("1ms", "7d").default(1_000),
  })
    .transform((limit) => ({ requests: limit.requests, perMs: limit.per }))
    .prefault({}),
  max_body: maxBodySchema.default(64 * 2 ** 20),
  stale_after: count(1, 1_000_000).default(3),
  gone_after: count(1, 1_000_000).default(2),
}).transform((poll) => ({
  schedule: poll.every ?? poll.schedule ?? everyHalfMinute,
  timeoutMs: poll.timeout,
  rateLimit: poll.rate_limit,
  maxBodyBytes: poll.max_body,
  staleAfter: poll.stale_after,
  goneAfter: poll.gone_after,
}));

const httpSchema = settings({
  listen: scalar(
    "HOST:PORT, such as 127.0.0.1:9740, [::1]:9740, or :9740 for every interface",
    (value) => (typeof value === "string" ? parseListenAddress(value) : undefined),
  ).default({ host: "127.0.0.1", port: 9740 }),
  allowed_hosts: z
    .array(
      scalar("a name such as sandwatch.example.com, without a port", (value) =>
        typeof value === "string" &&
        /^[A-Za-z0-9](?:[A-Za-z0-9_.-]{0,251}[A-Za-z0-9])?$/.test(value)
          ? value.toLowerCase()
          : undefined,
      ),
      "a list of names",
    )
    .default([]),
}).transform((http) => ({ ...http.listen, allowedHosts: http.allowed_hosts }));

const logSchema = settings({
  level: oneOf(["trace", "debug", "info", "warn", "error", "fatal", "silent"]).default("info"),
  format: oneOf(["json", "pretty"]).optional(),
});

const metricsSchema = settings({ per_server: flag().default(true) }).transform((metrics) => ({
  perServer: metrics.per_server,
}));

/** The whole file, each setting for itself. What several settings say together: `crossChecks`. */
export const settingsSchema = settings({
  regions: regionsSchema,
  keys: z.array(keySchema, "a list of keys").min(1, "at least one key"),
  poll: pollSchema.prefault({}),
  probes: z.array(probeSchema, "a list of probes").default([]),
  store: settings({ path: text("the path of a file").default("data/sandwatch.db") }).prefault({}),
  history: historySchema.prefault({}),
  http: httpSchema.prefault({}),
  log: logSchema.prefault({}),
  metrics: metricsSchema.prefault({}),
  alerts: settings({
    rules: z.array(ruleSchema, "a list of rules").optional(),
    receivers: z.array(receiverSchema, "a list of receivers").default([]),
    maintenance: z.array(maintenanceSchema, "a list of maintenance windows").default([]),
    outbound: outboundSchema.prefault({}),
  }).prefault({}),
});

/** What the file says, with the defaults that need no knowledge of the rest of it. */
export type Settings = z.output<typeof settingsSchema>;
