import { drawSchedule } from "./poll-schedule.ts";
import type { PollSchedule } from "./poll-schedule.ts";
import { drawStages } from "./stages.ts";
import type { Stage } from "./stages.ts";
import { drawPoolRules } from "./pool-rules.ts";
import type { ScenarioPoolRule } from "./pool-rules.ts";
import { drawProbeRules, drawProbes } from "./probes.ts";
import type { ScenarioProbe, ScenarioProbeRule } from "./probes.ts";
import { asItsType, drawAlertmanager, heardByOthers, namesNoIds } from "./receiver-types.ts";
import type { ScenarioAlertmanager } from "./receiver-types.ts";
import { createDice } from "./support/dice.ts";
import type { Dice } from "./support/dice.ts";

/** How long a condition must hold, in milliseconds or in polls. */
export type Hold = { readonly ms: number } | { readonly polls: number };

interface AnyRule {
  readonly name: string;
  readonly hold: Hold;
  readonly keepFiringMs: number;
  readonly remindEveryMs: number | null;
  readonly receivers: readonly string[];
}

export interface ScenarioServerRule extends AnyRule {
  readonly on: "server";
  readonly status: string;
  /** More than so many times within so long it is told as flapping; null: every time is told. */
  readonly flap: { readonly changes: number; readonly withinMs: number } | null;
}

export interface ScenarioTargetRule extends AnyRule {
  readonly on: "target";
}

/** The rules of a scenario, as the oracle knows them. */
export type ScenarioRule =
  | ScenarioServerRule
  | ScenarioTargetRule
  | ScenarioPoolRule
  | ScenarioProbeRule;

export interface ScenarioReceiver {
  readonly name: string;
  readonly type: "webhook" | "pagerduty" | "slack";
  readonly groupWaitMs: number;
  readonly groupIntervalMs: number;
  readonly groupBy: readonly string[];
  readonly mergeAbove: number;
  readonly giveUpAfterMs: number;
  readonly sendResolved: boolean;
  readonly sendAcknowledged: boolean;
}

export interface ScenarioTarget {
  readonly name: string;
  readonly region: string;
  readonly key: string;
  /** Server ids by sandbox id. */
  readonly sandboxes: ReadonlyMap<string, readonly string[]>;
}

/** Opens every so many hours by the clocks of a zone, at a minute. */
export interface MaintenanceWindow {
  readonly name: string;
  readonly start: { readonly minute: number; readonly everyHours: number };
  readonly timeZone: string;
  readonly durationMs: number;
  readonly rules: readonly string[];
}

/** What the service does that is unusual. */
export interface ServiceTraits {
  /** It encodes bodies as it is asked to. */
  readonly encodes: boolean;
  /** Servers get other names now and then. */
  readonly renames: boolean;
  /** One server goes from sandbox to sandbox. */
  readonly moves: boolean;
}

/** What is the same from a run's beginning to its end. Milliseconds. */
export interface Scenario {
  readonly seed: number;
  /** What the wall clock shows at first. */
  readonly startUtcMs: number;
  /** How far apart polls usually are. */
  readonly intervalMs: number;
  /** Null: they come once in each interval. */
  readonly schedule: PollSchedule | null;
  readonly timeoutMs: number;
  /** What the service allows each key. */
  readonly rateLimit: { readonly requests: number; readonly perMs: number };
  readonly goneAfter: number;
  readonly targets: readonly ScenarioTarget[];
  readonly rules: readonly ScenarioRule[];
  readonly probes: readonly ScenarioProbe[];
  /** What a process that starts after some time is configured with instead; null: the same. */
  readonly later: { readonly fromMs: number; readonly rules: readonly ScenarioRule[] } | null;
  readonly receivers: readonly ScenarioReceiver[];
  /** Not one of `receivers`: it gets states rather than messages, and is always configured. */
  readonly alertmanager: ScenarioAlertmanager | null;
  /** Which of them are configured, and whom rules name, from time to time. */
  readonly stages: readonly [Stage, ...Stage[]];
  readonly maintenance: readonly MaintenanceWindow[];
  readonly service: ServiceTraits;
  /** Null: nobody waits for pings. */
  readonly heartbeat: { readonly everyMs: number } | null;
  /** From here on nothing goes wrong any more. */
  readonly calmMs: number;
  readonly endMs: number;
}

const second = 1_000;
const minute = 60 * second;
const hour = 60 * minute;
const day = 24 * hour;

const longestGroupWaitMs = 3 * minute;

/** No message waits for longer for others, or after one of its group. */
export const longestWaitMs = 30 * minute;

/** A world that is polled rarely would take long. */
const longestScheduledMs = day;

/** Longer than any receiver asks to be left alone, and than the longest wait between attempts. */
const calmForMs = 90 * minute;

export function drawScenario(seed: number): Scenario {
  const dice = createDice(seed, "scenario");
  const drawnMs = dice.pick([
    30 * second,
    minute,
    2 * minute,
    5 * minute,
    10 * minute,
    20 * minute,
  ]);
  const scheduled = drawSchedule(dice.fork("schedule"), drawnMs);
  const intervalMs = scheduled?.schedule.intervalMs ?? drawnMs;
  const receivers = drawReceivers(dice.fork("receivers"), intervalMs);
  const polls = dice.between(50, 160);
  const calmMs = Math.min(polls * intervalMs, scheduled ? longestScheduledMs : Infinity);
  const rateLimit = drawRateLimit(dice.fork("limit"));
  const probes = scheduled ? [] : drawProbes(dice.fork("probes"), { intervalMs, rateLimit });
  const ofMore = [
    ...drawPoolRules(dice.fork("pool rules"), intervalMs, receivers),
    ...drawProbeRules(dice.fork("probe rules"), probes, receivers),
  ];
  const rules = heardByOthers(
    [
      ...drawRules(dice.fork("rules"), intervalMs, receivers),
      ...(namesNoIds({ receivers }) ? [] : ofMore),
    ],
    receivers,
  );
  return {
    seed,
    startUtcMs: scheduled?.startUtcMs ?? Date.UTC(2026, 10, 20, 9, 30),
    intervalMs,
    schedule: scheduled?.schedule ?? null,
    timeoutMs: 10 * second,
    rateLimit,
    probes,
    goneAfter: dice.between(1, 3),
    targets: drawTargets(dice.fork("targets"), dice.fork("moves").chance(0.3)),
    rules,
    later: drawLater(dice.fork("later"), rules, calmMs),
    receivers,
    alertmanager: drawAlertmanager(dice.fork("alertmanager"), intervalMs, rules),
    stages: drawStages(dice.fork("stages"), receivers, rules, calmMs),
    maintenance: namesNoIds({ receivers }) ? [] : drawMaintenance(dice.fork("maintenance"), rules),
    service: {
      encodes: dice.fork("encodes").chance(0.3),
      renames: dice.fork("renames").chance(0.3),
      moves: dice.fork("moves").chance(0.3),
    },
    heartbeat: dice.fork("heartbeat").pick([null, { everyMs: minute }, { everyMs: 5 * minute }]),
    calmMs,
    endMs: calmMs + calmForMs + 6 * intervalMs,
  };
}

function drawRateLimit(dice: Dice): Scenario["rateLimit"] {
  return dice.pick([
    { requests: 2, perMs: second },
    { requests: 2, perMs: second },
    { requests: 1, perMs: 5 * second },
    { requests: 4, perMs: 15 * second },
  ]);
}

function drawMaintenance(dice: Dice, rules: readonly ScenarioRule[]): readonly MaintenanceWindow[] {
  if (dice.chance(0.7)) return [];
  const names = rules.filter(({ on }) => on === "server").map(({ name }) => name);
  return [
    {
      name: "deploy",
      start: { minute: dice.between(0, 59), everyHours: dice.pick([1, 3, 6]) },
      timeZone: dice.pick(["UTC", "Asia/Kolkata", "America/New_York"]),
      durationMs: dice.pick([5, 20, 45]) * minute,
      rules: dice.chance(0.5) ? names : names.slice(0, 1),
    },
  ];
}

/** A key whose turns come close upon those of `research`, so that polls are committed together. */
const alikeInTurns = "agents-287263";

/** The server that goes from sandbox to sandbox. */
export const roamer = "roamer";

function drawTargets(dice: Dice, moves: boolean): readonly ScenarioTarget[] {
  const regions = dice.pick([["us"], ["us"], ["us", "eu"]]);
  const keys = dice.pick([["research"], ["research"], ["research", alikeInTurns]]);
  return regions.flatMap((region) =>
    keys.map((key) => {
      const sandboxes = new Map<string, readonly string[]>();
      for (let box = dice.between(1, 2); box > 0; box--) {
        const servers = Array.from({ length: dice.between(1, 3) }, (_, at) => `${box}-${at}`);
        sandboxes.set(`box-${box}`, servers);
      }
      if (moves) {
        for (const [box, servers] of sandboxes) sandboxes.set(box, [...servers, roamer]);
      }
      return { name: `${region}/${key}`, region, key, sandboxes };
    }),
  );
}

function drawReceivers(dice: Dice, intervalMs: number): readonly ScenarioReceiver[] {
  const names = ["oncall", "team", "board"].slice(0, dice.between(1, 3));
  const types = dice.fork("service-types");
  const mixed = types.pick([0, 0, 0, 0.5]);
  const slack = dice.fork("slack").chance(0.2) ? names.slice(1).at(-1) : undefined;
  return names.map((name) =>
    asItsType({
      name,
      type: name === slack ? "slack" : types.chance(mixed) ? "pagerduty" : "webhook",
      groupWaitMs: dice.pick([0, 5 * second, 30 * second, longestGroupWaitMs]),
      groupIntervalMs: dice
        .fork(`interval ${name}`)
        .pick([0, minute, Math.min(5 * intervalMs, longestWaitMs)]),
      mergeAbove: dice.fork(`merge ${name}`).pick([20, 20, 1, 2]),
      giveUpAfterMs: dice.fork(`patience ${name}`).pick([day, day, day, 20 * minute]),
      groupBy: dice.pick([
        ["rule", "region", "key"],
        ["rule"],
        ["rule", "region", "sandbox_id"],
        ["server_name"],
      ]),
      sendResolved: dice.chance(0.8),
      sendAcknowledged: dice.fork(name).chance(0.5),
    }),
  );
}

/** One rule on servers is gone, or has become another. */
function drawLater(dice: Dice, rules: readonly ScenarioRule[], calmMs: number): Scenario["later"] {
  if (dice.chance(0.6)) return null;
  const [first, ...others] = rules.filter((rule) => rule.on === "server");
  if (!first) return null;
  const changed = dice.pick([first, ...others]);
  const becomes = dice.chance(0.5)
    ? []
    : [{ ...changed, keepFiringMs: changed.keepFiringMs + 1_000 }];
  return {
    fromMs: Math.round(dice.random() * calmMs),
    rules: rules.flatMap((rule) => (rule === changed ? becomes : [rule])),
  };
}

function drawRules(
  dice: Dice,
  intervalMs: number,
  receivers: readonly ScenarioReceiver[],
): readonly ScenarioRule[] {
  const drawAny = (name: string): Omit<AnyRule, "hold"> => ({
    name,
    keepFiringMs: dice.pick([0, 0, dice.between(1, 4) * intervalMs]),
    remindEveryMs: dice.pick([null, null, dice.between(3, 20) * intervalMs]),
    receivers: some(dice, receivers).map((receiver) => receiver.name),
  });
  const drawHold = (): Hold =>
    dice.pick<Hold>([
      { ms: 0 },
      { ms: 0 },
      { ms: dice.between(1, 5) * minute },
      { ms: dice.between(1, 4) * intervalMs },
      { polls: dice.between(1, 4) },
    ]);
  const flaps = dice.fork("flaps");
  const drawFlap = (): ScenarioServerRule["flap"] =>
    flaps.chance(0.4)
      ? null
      : { changes: flaps.pick([1, 1, 2, 3]), withinMs: flaps.between(10, 60) * intervalMs };
  const rules: ScenarioRule[] = [
    {
      ...drawAny("server-error"),
      on: "server",
      status: "error",
      hold: drawHold(),
      flap: drawFlap(),
    },
    {
      ...drawAny("target-down"),
      keepFiringMs: 0,
      on: "target",
      hold: dice.pick<Hold>([{ polls: 3 }, { polls: 1 }, { ms: 3 * intervalMs }]),
    },
  ];
  if (dice.chance(0.4)) {
    rules.push({
      ...drawAny("server-idle"),
      on: "server",
      status: "idle",
      hold: drawHold(),
      flap: null,
    });
  }
  const unknown = dice.fork("unknown");
  if (unknown.chance(0.3)) {
    rules.push({
      name: "server-unknown",
      keepFiringMs: unknown.pick([0, 2 * intervalMs]),
      remindEveryMs: null,
      receivers: some(unknown, receivers).map((receiver) => receiver.name),
      on: "server",
      status: "unknown",
      hold: unknown.pick<Hold>([{ ms: 0 }, { polls: 2 }]),
      flap: null,
    });
  }
  return rules;
}

/** At least one. */
function some<T>(dice: Dice, all: readonly T[]): readonly T[] {
  const chosen = all.filter(() => dice.chance(0.7));
  return chosen.length > 0 ? chosen : all.slice(0, 1);
}

export const serviceOrigin = (region: string): string => `https://${region}.service.test`;
export const receiverOrigin = (receiver: string): string => `https://${receiver}.receiver.test`;
export const apiKeyOf = (key: string): string => `simulated-${key}`;

/** Short enough, also with a stepped wall clock, of the day after which a notification is given up. */
export const longestOutageMs = 4 * hour;
