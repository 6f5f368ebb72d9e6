import type { ScenarioTarget } from "../scenario.ts";
import type { Dice } from "./dice.ts";
import type { ScenarioReceiver, Stages } from "./receivers.ts";
import { some, type EscalationStep, type ScenarioRule } from "./rules.ts";

/** What limits the incidents of a receiver: those that match all that is given. */
export interface Route {
  readonly rules?: readonly string[];
  readonly regions?: readonly string[];
  readonly team?: string;
  /** How the names of servers begin. */
  readonly serverPrefix?: string;
}

/** When a receiver is notified, by the clocks of a zone. */
export interface Hours {
  readonly timeZone: string;
  /** From 0 for Monday, both included; the last one can be before the first. */
  readonly firstDay: number;
  readonly lastDay: number;
  /** Minutes of the day. An end that is not after the start is on the next day. */
  readonly fromMinute: number;
  readonly toMinute: number;
}

/** The label `team` of a key. */
export function teamOf(key: string): string {
  return key === "research" ? "search" : "agents";
}

const days = ["mon", "tue", "wed", "thu", "fri", "sat", "sun"] as const;

/** What the clocks of a zone show. */
export function localTime(timeZone: string, utcMs: number) {
  const format = formats.get(timeZone) ?? formatOf(timeZone);
  formats.set(timeZone, format);
  const parts = new Map(format.formatToParts(utcMs).map(({ type, value }) => [type, value]));
  const day = days.findIndex((each) => each === parts.get("weekday")?.toLowerCase());
  return { day, minute: 60 * Number(parts.get("hour")) + Number(parts.get("minute")) };
}

const formats = new Map<string, Intl.DateTimeFormat>();

function formatOf(timeZone: string): Intl.DateTimeFormat {
  return new Intl.DateTimeFormat("en-GB", {
    timeZone,
    weekday: "short",
    hour: "2-digit",
    minute: "2-digit",
    hourCycle: "h23",
  });
}

interface Routed {
  readonly receivers: readonly ScenarioReceiver[];
  readonly rules: readonly ScenarioRule[];
  readonly stages: Stages;
}

const second = 1_000;
const minute = 60 * second;
const day = 24 * 60 * minute;

/**
 * In some worlds, further receivers that are notified of some incidents (`squad`), at some hours (`night`), or of what nobody
 * acknowledges (`lead`, `boss`). All others are notified as in any world.
 */
export function drawRouting(
  dice: Dice,
  unrouted: Routed,
  targets: readonly ScenarioTarget[],
  world: { readonly startUtcMs: number; readonly intervalMs: number; readonly calmMs: number },
): Routed {
  if (!dice.chance(0.35)) return unrouted;
  const drawRoute = (own: Dice): Route => {
    const [first, ...others] = targets;
    const { region = "us", key = "research" } = first ? own.pick([first, ...others]) : {};
    const names = unrouted.rules.filter(isRoutedRule).map(({ name }) => name);
    return own.pick<Route>([
      { team: teamOf(key) },
      { team: teamOf(key), regions: [region] },
      { serverPrefix: "tool-1" },
      { rules: some(own, names) },
    ]);
  };
  const drawReceiver = (name: string): ScenarioReceiver => {
    const own = dice.fork(name);
    const isTimed = name === "night" || (name === "lead" && own.chance(0.3));
    return {
      name,
      groupWaitMs: own.pick([0, 5 * second]),
      groupIntervalMs: own.pick([0, minute]),
      groupLimit: own.pick([5, 20]),
      giveUpAfterMs: day,
      groupBy: own.pick([["rule", "region", "key"], ["rule"], ["server_name"]]),
      sendResolved: own.chance(0.8),
      sendAcknowledged: own.chance(0.3),
      route: name === "squad" || own.chance(0.25) ? drawRoute(own) : null,
      hours: isTimed ? drawHours(own.fork("hours"), world) : null,
    };
  };
  /** So that an incident of which it is notified at once may explain one that is escalated to it. */
  const isLeadAtOnce = ({ on, name }: ScenarioRule): boolean =>
    on === "target" && dice.fork(`lead of ${name}`).chance(0.4);
  const alone = dice.fork("alone").chance(0.4);
  const nameFor = (rule: ScenarioRule, before: readonly string[]): readonly string[] => {
    if (!isRoutedRule(rule)) return before;
    const own = dice.fork(`of ${rule.name}`);
    const more = ["squad", "night"].filter(() => own.chance(0.7));
    if (isLeadAtOnce(rule)) more.push("lead");
    return alone && rule.name === "server-error"
      ? [...more, "night"].slice(-1)
      : [...before, ...more];
  };
  const { intervalMs } = world;
  const withoutLead = (steps: readonly EscalationStep[]): readonly EscalationStep[] =>
    steps
      .map((step) => ({ ...step, receivers: step.receivers.filter((name) => name !== "lead") }))
      .filter(({ receivers }) => receivers.length > 0);
  const escalationOf = (rule: ScenarioRule): readonly EscalationStep[] => {
    const own = dice.fork(`escalation of ${rule.name}`);
    if (!isRoutedRule(rule) || !own.chance(0.7)) return [];
    const firstMs = own.between(2, 8) * intervalMs;
    const steps = [
      { afterMs: firstMs, receivers: ["lead"] },
      { afterMs: firstMs + own.between(1, 8) * intervalMs, receivers: ["boss"] },
    ];
    const chosen = own.chance(0.2) ? [{ afterMs: firstMs, receivers: ["boss", "lead"] }] : steps;
    return isLeadAtOnce(rule) ? withoutLead(chosen) : chosen;
  };
  const names = ["squad", "night", "lead", "boss"];
  const [firstStage, ...laterStages] = unrouted.stages.map((stage) => ({
    ...stage,
    receivers: stage.receivers.union(new Set(names)),
    routes: new Map(
      unrouted.rules.map((rule) => [
        rule.name,
        nameFor(rule, stage.routes.get(rule.name) ?? rule.receivers),
      ]),
    ),
  }));
  return {
    receivers: [...unrouted.receivers, ...names.map(drawReceiver)],
    rules: unrouted.rules.map((rule) => ({
      ...rule,
      receivers: nameFor(rule, rule.receivers),
      escalation: escalationOf(rule),
    })),
    stages: firstStage ? [firstStage, ...laterStages] : unrouted.stages,
  };
}

/** Rules whose incidents are known at each commit, with whom they were notified to. */
function isRoutedRule({ on }: ScenarioRule): boolean {
  return on === "server" || on === "sandbox" || on === "target";
}

/** They begin or end while the world lasts. */
function drawHours(
  dice: Dice,
  { startUtcMs, calmMs }: { readonly startUtcMs: number; readonly calmMs: number },
): Hours {
  const timeZone = dice.pick(["UTC", "Asia/Kolkata", "Europe/Berlin", "America/New_York"]);
  const lastsMs = Math.min((0.1 + 0.5 * dice.random()) * calmMs, 20 * 60 * minute);
  const beginMs = startUtcMs + (dice.random() - 0.2) * calmMs;
  const begin = localTime(timeZone, beginMs);
  const end = localTime(timeZone, beginMs + Math.max(lastsMs, 2 * minute));
  const [firstDay, lastDay] = dice.pick<readonly [number, number]>([
    [0, 6],
    [0, 6],
    [begin.day, (begin.day + 1) % 7],
    [5, 3],
  ]);
  return { timeZone, firstDay, lastDay, fromMinute: begin.minute, toMinute: end.minute };
}

/** As a configuration file has them. */
export function hoursSetting({ timeZone, firstDay, lastDay, fromMinute, toMinute }: Hours): object {
  const clock = (minutes: number): string =>
    [Math.floor(minutes / 60), minutes % 60].map((part) => String(part).padStart(2, "0")).join(":");
  const times = `${clock(fromMinute)}-${clock(toMinute)}`;
  return { open: [`${days[firstDay]}-${days[lastDay]} ${times}`], time_zone: timeZone };
}

export function matchSetting({ rules, regions, team, serverPrefix }: Route): object {
  return {
    // With a pattern, it may have been removed.
    ...(rules && { rule: rules.map((name) => `${name}*`) }),
    ...(regions && { region: regions }),
    ...(team !== undefined && { labels: { team } }),
    ...(serverPrefix !== undefined && { server_name: [`${serverPrefix}*`] }),
  };
}
