import { z } from "zod";
import type { Probe } from "../alerts/probe.ts";
import type { Rule } from "../alerts/rule.ts";
import { durationPattern, parseDuration } from "../fleet/text.ts";
import { Secret } from "../lib/secret.ts";
import { flag, oneOf, optional, settings, textOf } from "./fields.ts";
import { crossCheckSettings, targetsIn } from "./cross-checks.ts";
import { clusterSchema } from "./schema-cluster.ts";
import { httpSchema } from "./schema-http.ts";
import { toSchedule } from "./schedule-fields.ts";
import { maintenanceSchema } from "./schema-maintenance.ts";
import { outboundSchema, receiversOutboundSchema, routeOf } from "./schema-outbound.ts";
import { probeSchema, targetsOf } from "./schema-probes.ts";
import { receiverSchema } from "./schema-receivers.ts";
import { labelsSchema } from "./schema-routing.ts";
import { escalationSchema } from "./rule-fields.ts";
import { reportSchema } from "./schema-reports.ts";
import { ruleSchema } from "./schema-rules.ts";
import { storeSchema } from "./schema-store.ts";
import { keySchema, pollSchema, regionsSchema } from "./schema-targets.ts";

const dayMs = 24 * 60 * 60 * 1_000;

/** Milliseconds; null: for ever. */
const kept = () =>
  textOf(
    "a duration such as 400d, from 1d to 36500d, or forever",
    new RegExp(`${durationPattern.source}|^forever$`),
    (value) => {
      if (value === "forever") return null;
      const ms = parseDuration(value) ?? 0;
      return ms >= dayMs && ms <= 36_500 * dayMs ? ms : undefined;
    },
    ["forever"],
  );

const historySchema = settings({
  changes: kept()
    .prefault("400d")
    .describe("How long changes of servers, resolved incidents and unobserved time are kept."),
  "1h": kept()
    .prefault("400d")
    .describe(
      "How long hours are kept, and quarters of an hour: the time that servers and sandboxes spent in each status. The last two days of hours always are.",
    ),
  "1d": kept().prefault("forever").describe("The same of days (UTC)."),
}).transform(({ changes, ...rollups }) => ({
  changes,
  rollups: { ...rollups, "15m": rollups["1h"] },
}));

const logSchema = settings({
  level: oneOf(["trace", "debug", "info", "warn", "error", "fatal", "silent"])
    .prefault("info")
    .describe("The lowest level that is logged."),
  format: optional(
    oneOf(["json", "pretty"]),
    "`pretty` on a terminal, otherwise `json`",
    "`json` writes one JSON object per line; `pretty` writes lines for people.",
  ),
}).transform(({ level, format }) => ({ level, format: format ?? "json" }));

const metricsSchema = settings({
  perServer: flag()
    .prefault(true)
    .describe("Whether series per server and per sandbox are exported. Totals always are."),
});

/** The rules that there are where the configuration has none. */
const flap = { changes: 1, within: "1h", firing_only: true };
const defaultRules = [
  { name: "server-error", on: "server", status: "error", flap },
  { name: "sandbox-error", on: "sandbox", status: "error", flap },
  { name: "key-refused", on: "target", auth: { polls: 3 }, severity: "critical", flap },
  { name: "target-down", on: "target", failing: { polls: 3 }, flap },
  { name: "target-partial", on: "target", partial: { polls: 10 }, flap },
  { name: "region-down", on: "region", failing: { polls: 2 }, flap },
];

const alertsSchema = settings({
  rules: z
    .array(ruleSchema, "a list of rules")
    .prefault([...defaultRules])
    .meta({
      description: "The alert rules. An empty list disables alerts.",
      defaultText:
        "`server-error`, `sandbox-error`, `key-refused`, `target-down`, `target-partial` and `region-down`, to every receiver",
    }),
  receivers: z
    .array(receiverSchema, "a list of receivers")
    .prefault([])
    .describe("Where notifications are sent."),
  escalate: escalationSchema
    .prefault([])
    .describe(
      "Who else is notified of an incident that nobody has acknowledged for a time, unless the rule has its own `escalate`.",
    ),
  labels: labelsSchema
    .prefault({})
    .describe(
      "Labels of every key that does not have them itself, and of incidents without a key.",
    ),
  maintenance: z
    .array(maintenanceSchema, "a list of maintenance windows")
    .prefault([])
    .describe("Recurring maintenance windows, which suppress notifications."),
  outbound: receiversOutboundSchema
    .prefault({})
    .describe(
      "How receivers are reached, and the networks in which they may be. Every address is checked when a connection to it is opened. Link-local addresses, multicast addresses and the metadata services of clouds are always denied.",
    ),
});

/**
 * The whole file. Each setting is checked for itself; what several say together: `crossCheckSettings`.
 * Durations become milliseconds, sizes bytes.
 */
export const configSchema = settings({
  regions: regionsSchema.describe(
    "The monitored deployments of the service, by name. The name is used as a label.",
  ),
  keys: z
    .array(keySchema, "a list of keys")
    .min(1, "at least one key")
    .describe("The API keys whose sandboxes are monitored."),
  poll: pollSchema.prefault({}).describe("How listings are polled."),
  probes: z
    .array(probeSchema, "a list of probes")
    .prefault([])
    .describe("Scheduled calls of single operations, and what is expected of their responses."),
  outbound: outboundSchema.prefault({}).describe("How the service and receivers are reached."),
  store: storeSchema.prefault({}).describe("Where sandwatch stores its data."),
  cluster: optional(
    clusterSchema,
    "none: one process uses the store",
    "Several processes on one store, of which one is active and the others stand by. It needs `store.postgres`.",
  ),
  history: historySchema
    .prefault({})
    .describe("How long history is kept. Space that is freed is reused."),
  http: httpSchema.prefault({}).describe("The HTTP server."),
  log: logSchema.prefault({}).describe("The log, which is written to standard output."),
  metrics: metricsSchema.prefault({}).describe("What is exported to Prometheus."),
  alerts: alertsSchema.prefault({}).describe("Which incidents go to which receivers."),
  reports: z
    .array(reportSchema, "a list of reports")
    .prefault([])
    .describe("Reports of occupancy that are sent to receivers on a schedule."),
})
  .superRefine(crossCheckSettings)
  .transform((written) => {
    const { poll, alerts, outbound, http, ...rest } = written;
    const routed = new Map(
      Array.from(written.regions, ([name, { baseUrl, ...own }]) => {
        return [name, { baseUrl, route: routeOf(outbound, own) }] as const;
      }),
    );
    const { denyNetworks: deny, allowNetworks: allow, ...own } = alerts.outbound;
    const receiversOutbound = { networks: { deny, allow }, route: routeOf(outbound, own) };
    const { timeZone, ...polls } = poll;
    const targets = targetsIn(written);
    const keys = written.keys.map((key) => ({
      name: key.name,
      apiKey: new Secret(key.apiKey),
      labels: new Map([...alerts.labels, ...key.labels]),
      regions: key.regions ?? [...written.regions.keys()],
    }));
    const probes = written.probes.map(
      ({ regions, keys: named, schedule, everyMs, ...probe }): Probe => ({
        ...probe,
        schedule: toSchedule({ schedule, everyMs }, timeZone, { kind: "every", ms: 60_000 }),
        targets: targetsOf({ regions, keys: named }, targets),
      }),
    );
    const everyReceiver = alerts.receivers
      .filter(({ type }) => type !== "heartbeat")
      .map((receiver) => receiver.name);
    const rules = alerts.rules.map(
      ({ summary, runbookUrl, receivers, escalate, ...rule }): Rule => {
        const escalation = escalate ?? alerts.escalate;
        // A rule without escalation must not notify at once those who are meant for later.
        const steps = [...escalation, ...alerts.escalate];
        const later = new Set(steps.flatMap((step) => step.receivers));
        return {
          ...rule,
          receivers: receivers ?? everyReceiver.filter((name) => !later.has(name)),
          escalation,
          summaryTemplate: summary,
          runbookUrlTemplate: runbookUrl,
        };
      },
    );
    const { cluster } = written;
    const ownHost = cluster ? [new URL(cluster.address).hostname] : [];
    const zones = [timeZone, ...written.reports.map((report) => report.timeZone)];
    return {
      ...rest,
      history: { ...written.history, zones: [...new Set(zones)] },
      http: { ...http, allowedHosts: [...http.allowedHosts, ...ownHost] },
      regions: routed,
      keys,
      poll: polls,
      probes,
      alerts: { ...alerts, rules, outbound: receiversOutbound },
    };
  });

/** A report that is sent on a schedule. */
export type ScheduledReport = Config["reports"][number];

/** A configuration that passed every check. */
export type Config = z.output<typeof configSchema>;
