import { poolCondition } from "./pool-rules.ts";
import { cronExpression } from "./poll-schedule.ts";
import { probeSetting } from "./probes.ts";
import { apiKeyOf, receiverOrigin, serviceOrigin } from "./scenario.ts";
import type { ScenarioAlertmanager } from "./receiver-types.ts";
import type { Stage } from "./stages.ts";
import type {
  Hold,
  MaintenanceWindow,
  Scenario,
  ScenarioReceiver,
  ScenarioRule,
} from "./scenario.ts";

/** Of PagerDuty. */
export const routingKey = "0123456789abcdef".repeat(2);

/** What alerts link to. */
export const generatorUrl = "https://dashboard.test/servers";

const second = 1_000;

/** What of a scenario can be configured otherwise than it is. */
export type Configured = { readonly stage: Stage } & Pick<
  Scenario,
  | "rules"
  | "probes"
  | "receivers"
  | "rateLimit"
  | "intervalMs"
  | "schedule"
  | "heartbeat"
  | "maintenance"
>;

/** The scenario as a configuration file has it, with rules of its own or later ones. */
export function settingsOf(
  scenario: Scenario,
  {
    rules,
    probes,
    receivers,
    stage,
    rateLimit,
    intervalMs,
    schedule,
    heartbeat,
    maintenance,
  }: Configured,
  secret: string,
): unknown {
  const { alertmanager } = scenario;
  const unique = (names: readonly string[]): readonly string[] => [...new Set(names)];
  const ms = (value: number): string => `${value / second}s`;
  const regions = unique(scenario.targets.map(({ region }) => region));
  return {
    regions: Object.fromEntries(
      regions.map((region) => [region, { base_url: serviceOrigin(region) }]),
    ),
    keys: unique(scenario.targets.map(({ key }) => key)).map((name) => ({
      name,
      api_key: apiKeyOf(name),
    })),
    poll: {
      ...(schedule === null
        ? { every: ms(intervalMs) }
        : { schedule: cronExpression(schedule), time_zone: schedule.timeZone }),
      timeout: ms(scenario.timeoutMs),
      gone_after: scenario.goneAfter,
      rate_limit: { requests: rateLimit.requests, per: ms(rateLimit.perMs) },
    },
    ...(probes.length === 0 ? {} : { probes: probes.map(probeSetting) }),
    store: { path: "replaced by the host's" },
    metrics: { per_server: false },
    alerts: {
      maintenance: maintenance.flatMap(windowSetting),
      rules: rules.map((rule) => ({
        name: rule.name,
        on: rule.on,
        ...conditionSetting(rule),
        keep_firing_for: ms(rule.keepFiringMs),
        ...("flap" in rule && rule.flap !== null
          ? { flap: { changes: rule.flap.changes, within: ms(rule.flap.withinMs) } }
          : {}),
        ...(rule.remindEveryMs === null ? {} : { remind_every: ms(rule.remindEveryMs) }),
        receivers: [
          ...(stage.routes.get(rule.name) ?? rule.receivers),
          ...(alertmanager?.rules.includes(rule.name) ? [alertmanager.name] : []),
        ],
      })),
      receivers: [
        ...(heartbeat === null ? [] : [heartbeatSetting(heartbeat)]),
        ...(alertmanager === null ? [] : [alertmanagerSetting(alertmanager)]),
        ...receivers
          .filter(({ name }) => stage.receivers.has(name))
          .map((receiver) => ({
            name: receiver.name,
            url: receiverOrigin(receiver.name),
            ...(receiver.type === "pagerduty"
              ? { type: "pagerduty", routing_key: routingKey }
              : {
                  ...(receiver.type === "slack"
                    ? { type: "slack", max_incidents: 100 }
                    : { type: "webhook", secret }),
                  ...groupSettings(receiver),
                }),
            group_wait: ms(receiver.groupWaitMs),
            give_up_after: ms(receiver.giveUpAfterMs),
            send_resolved: receiver.sendResolved,
            send_acknowledged: receiver.sendAcknowledged,
          })),
      ],
    },
  };

  /** Of rules that there are. */
  function windowSetting(window: MaintenanceWindow): readonly unknown[] {
    const own = window.rules.filter((name) => rules.some((rule) => rule.name === name));
    if (own.length === 0) return [];
    const { name, start, durationMs, timeZone } = window;
    const cron = `${start.minute} */${start.everyHours} * * *`;
    const duration = ms(durationMs);
    return [{ name, start: cron, duration, time_zone: timeZone, match: { rule: own } }];
  }

  function groupSettings({ groupIntervalMs, groupBy, mergeAbove }: ScenarioReceiver): object {
    return { group_interval: ms(groupIntervalMs), group_by: groupBy, merge_above: mergeAbove };
  }

  function heartbeatSetting({ everyMs }: { readonly everyMs: number }): unknown {
    return { name: "pulse", type: "heartbeat", url: receiverOrigin("pulse"), every: ms(everyMs) };
  }

  function alertmanagerSetting({ name }: ScenarioAlertmanager): unknown {
    return {
      name,
      type: "alertmanager",
      urls: [receiverOrigin(name)],
      generator_url: generatorUrl,
    };
  }

  function conditionSetting(rule: ScenarioRule): object {
    switch (rule.on) {
      case "server":
        return { status: rule.status, for: holdSetting(rule.hold) };
      case "target":
      case "probe":
        return { failing: holdSetting(rule.hold) };
      case "pool":
        return poolCondition(rule);
    }
  }

  function holdSetting(hold: Hold): unknown {
    return "ms" in hold ? ms(hold.ms) : hold;
  }
}
