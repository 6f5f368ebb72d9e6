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

/** The rules of a scenario, as the oracle knows them. */
export type ScenarioRule =
  | (AnyRule & { readonly on: "server"; readonly status: string })
  | (AnyRule & { readonly on: "target" });

export interface ScenarioReceiver {
  readonly name: string;
  readonly groupWaitMs: number;
  readonly groupBy: readonly string[];
  readonly sendResolved: boolean;
}

export interface ScenarioTarget {
  readonly name: string;
  readonly region: string;
  readonly key: string;
  /** Server ids by sandbox id. */
  readonly sandboxes: ReadonlyMap<string, readonly string[]>;
}

/** What is the same from a run's beginning to its end. Milliseconds. */
export interface Scenario {
  readonly seed: number;
  readonly intervalMs: number;
  readonly timeoutMs: number;
  readonly goneAfter: number;
  readonly targets: readonly ScenarioTarget[];
  readonly rules: readonly ScenarioRule[];
  readonly receivers: readonly ScenarioReceiver[];
  /** From here on nothing goes wrong any more. */
  readonly calmMs: number;
  readonly endMs: number;
}

const second = 1_000;
const minute = 60 * second;
const hour = 60 * minute;

export const longestGroupWaitMs = 3 * minute;

/** Longer than any receiver asks to be left alone, and than the longest wait between attempts. */
const calmForMs = 90 * minute;

export function drawScenario(seed: number): Scenario {
  const dice = createDice(seed, "scenario");
  const intervalMs = dice.pick([
    30 * second,
    minute,
    2 * minute,
    5 * minute,
    10 * minute,
    20 * minute,
  ]);
  const receivers = drawReceivers(dice.fork("receivers"));
  const polls = dice.between(50, 160);
  const calmMs = polls * intervalMs;
  return {
    seed,
    intervalMs,
    timeoutMs: 10 * second,
    goneAfter: dice.between(1, 3),
    targets: drawTargets(dice.fork("targets")),
    rules: drawRules(dice.fork("rules"), intervalMs, receivers),
    receivers,
    calmMs,
    endMs: calmMs + calmForMs + 6 * intervalMs,
  };
}

function drawTargets(dice: Dice): readonly ScenarioTarget[] {
  const regions = dice.pick([["us"], ["us"], ["us", "eu"]]);
  const keys = dice.pick([["research"], ["research"], ["research", "agents"]]);
  return regions.flatMap((region) =>
    keys.map((key) => {
      const sandboxes = new Map<string, readonly string[]>();
      for (let box = dice.between(1, 2); box > 0; box--) {
        const servers = Array.from({ length: dice.between(1, 3) }, (_, at) => `${box}-${at}`);
        sandboxes.set(`box-${box}`, servers);
      }
      return { name: `${region}/${key}`, region, key, sandboxes };
    }),
  );
}

function drawReceivers(dice: Dice): readonly ScenarioReceiver[] {
  const names = ["oncall", "team", "board"].slice(0, dice.between(1, 3));
  return names.map((name) => ({
    name,
    groupWaitMs: dice.pick([0, 5 * second, 30 * second, longestGroupWaitMs]),
    groupBy: dice.pick([
      ["rule", "region", "key"],
      ["rule"],
      ["rule", "region", "sandbox_id"],
      ["server_name"],
    ]),
    sendResolved: dice.chance(0.8),
  }));
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
  const rules: ScenarioRule[] = [
    { ...drawAny("server-error"), on: "server", status: "error", hold: drawHold() },
    {
      ...drawAny("target-blind"),
      keepFiringMs: 0,
      on: "target",
      hold: dice.pick<Hold>([{ polls: 3 }, { polls: 1 }, { ms: 3 * intervalMs }]),
    },
  ];
  if (dice.chance(0.4)) {
    rules.push({ ...drawAny("server-idle"), on: "server", status: "idle", hold: drawHold() });
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

/** The scenario as a configuration file has it. */
export function settingsOf(scenario: Scenario, secret: string, storePath: string): unknown {
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
      every: ms(scenario.intervalMs),
      timeout: ms(scenario.timeoutMs),
      gone_after: scenario.goneAfter,
    },
    store: { path: storePath },
    metrics: { per_server: false },
    alerts: {
      rules: scenario.rules.map((rule) => ({
        name: rule.name,
        on: rule.on,
        ...(rule.on === "server"
          ? { status: rule.status, for: holdSetting(rule.hold) }
          : { failing: holdSetting(rule.hold) }),
        keep_firing_for: ms(rule.keepFiringMs),
        ...(rule.remindEveryMs === null ? {} : { remind_every: ms(rule.remindEveryMs) }),
        receivers: rule.receivers,
      })),
      receivers: scenario.receivers.map((receiver) => ({
        name: receiver.name,
        type: "webhook",
        url: receiverOrigin(receiver.name),
        secret,
        group_wait: ms(receiver.groupWaitMs),
        group_by: receiver.groupBy,
        send_resolved: receiver.sendResolved,
      })),
    },
  };

  function holdSetting(hold: Hold): unknown {
    return "ms" in hold ? ms(hold.ms) : hold;
  }
}
