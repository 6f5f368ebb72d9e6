import { probeSetting } from "./draw/probes.ts";
import type { ScenarioReceiver, Stage } from "./draw/receivers.ts";
import { hoursSetting, matchSetting, teamOf } from "./draw/routing.ts";
import type { Flap, Hold, ScenarioRule } from "./draw/rules.ts";
import { cronExpression } from "./draw/schedule.ts";
import { apiKeyOf, receiverOrigin, serviceOrigin } from "./scenario.ts";
import type { MaintenanceWindow, Scenario } from "./scenario.ts";

/** Of PagerDuty. */
export const routingKey = "0123456789abcdef".repeat(2);

export const signingSecret = `whsec_${Buffer.from("a secret of twenty-four bytes or more").toString("base64")}`;

/** A scenario as a process is configured with it, perhaps with other values. */
export interface Configured extends Scenario {
  readonly stage: Stage;
}

/** As a configuration file has it. */
export function settingsOf(configured: Configured): unknown {
  const { targets, rules, probes, schedule, rateLimit, maintenance } = configured;
  const { receivers, stage, pagerduty, heartbeat } = configured;
  const regions = new Set(targets.map(({ region }) => region));
  const keys = new Set(targets.map(({ key }) => key));
  const isRouted = receivers.some(({ route }) => route);
  return {
    regions: Object.fromEntries(
      Array.from(regions, (region) => [region, { base_url: serviceOrigin(region) }]),
    ),
    keys: Array.from(keys, (name) => ({
      name,
      api_key: apiKeyOf(name),
      ...(isRouted && { labels: { team: teamOf(name) } }),
    })),
    poll: {
      ...(schedule === null
        ? { every: duration(configured.intervalMs) }
        : { schedule: cronExpression(schedule), time_zone: schedule.timeZone }),
      timeout: duration(configured.timeoutMs),
      gone_after: configured.goneAfter,
      rate_limit: { requests: rateLimit.requests, per: duration(rateLimit.perMs) },
    },
    ...(probes.length === 0 ? {} : { probes: probes.map(probeSetting) }),
    store: { path: "replaced by the host's" },
    metrics: { per_server: false },
    alerts: {
      maintenance: maintenance.flatMap((window) => windowSetting(window, rules)),
      rules: rules.map((rule) => ruleSetting(rule, configured)),
      receivers: [
        ...(heartbeat
          ? [withUrl("pulse", "heartbeat", { every: duration(heartbeat.everyMs) })]
          : []),
        ...(pagerduty ? [withUrl(pagerduty.name, "pagerduty", { routing_key: routingKey })] : []),
        ...receivers.filter(({ name }) => stage.receivers.has(name)).map(receiverSetting),
      ],
    },
  };
}

function withUrl(name: string, type: string, more: object = {}): object {
  return { name, type, url: receiverOrigin(name), ...more };
}

function duration(ms: number): string {
  return `${ms / 1_000}s`;
}

function ruleSetting(rule: ScenarioRule, { stage, pagerduty }: Configured): object {
  const { name, on, keepFiringMs, remindEveryMs, escalation = [] } = rule;
  const flap = "flap" in rule ? rule.flap : null;
  return {
    name,
    on,
    ...conditionSetting(rule),
    keep_firing_for: duration(keepFiringMs),
    ...(flap && { flap: flapSetting(flap) }),
    ...(remindEveryMs !== null && { remind_every: duration(remindEveryMs) }),
    receivers: [
      ...(stage.routes.get(name) ?? rule.receivers),
      ...(pagerduty?.rules.includes(name) ? [pagerduty.name] : []),
    ],
    escalate: escalation.map(({ afterMs, receivers }) => ({ after: duration(afterMs), receivers })),
  };
}

function flapSetting({ changes, withinMs, firingOnly }: Flap): object {
  return { changes, within: duration(withinMs), firing_only: firingOnly };
}

function conditionSetting(rule: ScenarioRule): object {
  switch (rule.on) {
    case "server":
    case "sandbox":
      return { status: rule.status, for: holdSetting(rule.hold) };
    case "target":
      return { [rule.trouble]: holdSetting(rule.hold) };
    case "region":
    case "probe":
      return { failing: holdSetting(rule.hold) };
    case "pool":
      return {
        by: rule.by,
        [rule.measure]: { [rule.side]: rule.limit },
        for: holdSetting(rule.hold),
      };
  }
}

function holdSetting(hold: Hold): unknown {
  return "ms" in hold ? duration(hold.ms) : hold;
}

function receiverSetting(receiver: ScenarioReceiver): object {
  const { name, groupBy, groupLimit, route, hours } = receiver;
  const group_interval = duration(receiver.groupIntervalMs);
  return withUrl(name, "webhook", {
    secret: signingSecret,
    group_interval,
    group_by: groupBy,
    group_limit: groupLimit,
    group_wait: duration(receiver.groupWaitMs),
    give_up_after: duration(receiver.giveUpAfterMs),
    send_resolved: receiver.sendResolved,
    send_acknowledged: receiver.sendAcknowledged,
    ...(route && { match: matchSetting(route) }),
    ...(hours && { hours: hoursSetting(hours) }),
  });
}

/** A window may only name rules that are configured. */
function windowSetting(
  { name, start, durationMs, timeZone, rules }: MaintenanceWindow,
  configured: readonly ScenarioRule[],
): readonly object[] {
  const own = rules.filter((each) => configured.some((rule) => rule.name === each));
  if (own.length === 0) return [];
  const cron = `${start.minute} */${start.everyHours} * * *`;
  const match = { rule: own };
  return [{ name, start: cron, duration: duration(durationMs), time_zone: timeZone, match }];
}
