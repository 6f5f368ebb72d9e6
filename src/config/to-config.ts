import type { Rule } from "../alerts/rule.ts";
import { Secret } from "../lib/secret.ts";
import type { Config, LogConfig } from "./config.ts";
import { configuredTargets } from "./configured-targets.ts";
import { toSchedule } from "./schedule-fields.ts";
import type { Settings } from "./schema.ts";

/** Fills in the defaults that look at other settings: every region, every receiver, the rules. */
export function toConfig(settings: Settings, logFormat: LogConfig["format"]): Config {
  const { timeZone, ...poll } = settings.poll;
  const everyRegion = [...settings.regions.keys()];
  const { receivers, rules, outbound } = settings.alerts;
  const everyReceiver = receivers
    .filter(({ type }) => type !== "heartbeat")
    .map((receiver) => receiver.name);
  const keys = settings.keys.map((key) => ({
    name: key.name,
    apiKey: new Secret(key.api_key),
    regions: key.regions ?? everyRegion,
  }));
  return {
    regions: settings.regions,
    keys,
    probes: settings.probes.map(({ regions: inRegions, keys: withKeys, written, ...probe }) => ({
      ...probe,
      schedule: toSchedule(written, timeZone) ?? { kind: "every", ms: 60_000 },
      targets: configuredTargets({ keys }).filter(
        ({ region, key }) =>
          (inRegions?.includes(region) ?? true) && (withKeys?.includes(key) ?? true),
      ),
    })),
    poll,
    store: settings.store,
    history: settings.history,
    http: settings.http,
    log: { level: settings.log.level, format: settings.log.format ?? logFormat },
    metrics: settings.metrics,
    alerts: {
      rules: rules
        ? rules.map((rule): Rule => ({ ...rule, receivers: rule.receivers ?? everyReceiver }))
        : defaultRules(everyReceiver),
      receivers,
      maintenance: settings.alerts.maintenance,
      outbound,
    },
  };
}

/** Of the rules that there are where the configuration has none. */
export const defaultRuleNames = ["server-error", "target-down", "target-partial"] as const;

function defaultRules(receivers: readonly string[]): Rule[] {
  const common = {
    keepFiringForMs: 0,
    remindEveryMs: null,
    receivers,
    match: {},
    summaryTemplate: null,
    runbookUrlTemplate: null,
  };
  return [
    {
      ...common,
      name: defaultRuleNames[0],
      on: "server",
      status: "error",
      for: { kind: "duration", ms: 0 },
      flap: null,
      severity: "critical",
    },
    {
      ...common,
      name: defaultRuleNames[1],
      on: "target",
      trouble: "failing",
      for: { kind: "polls", polls: 3 },
      severity: "warning",
    },
    {
      ...common,
      name: defaultRuleNames[2],
      on: "target",
      trouble: "partial",
      for: { kind: "polls", polls: 10 },
      severity: "warning",
    },
  ];
}
