import type { Dice } from "./dice.ts";
import type { Hours, Route } from "./routing.ts";
import { some, type ScenarioRule } from "./rules.ts";

export interface ScenarioReceiver {
  readonly name: string;
  readonly groupWaitMs: number;
  readonly groupIntervalMs: number;
  readonly groupBy: readonly string[];
  readonly groupLimit: number;
  readonly giveUpAfterMs: number;
  readonly sendResolved: boolean;
  readonly sendAcknowledged: boolean;
  /** Null or missing: it is notified of all incidents of the rules that name it. */
  readonly route?: Route | null;
  /** Null or missing: it is notified at any time. */
  readonly hours?: Hours | null;
}

/** A receiver that some rules name besides their others, and that is always configured. */
export interface ExtraReceiver {
  readonly name: string;
  /** The names of the rules. */
  readonly rules: readonly string[];
}

/** What the configuration says of receivers from a time on. The running process then reloads it. */
export interface Stage {
  readonly fromMs: number;
  readonly receivers: ReadonlySet<string>;
  /** The receivers that each rule names. */
  readonly routes: ReadonlyMap<string, readonly string[]>;
}

export type Stages = readonly [Stage, ...Stage[]];

const second = 1_000;
const minute = 60 * second;
const day = 24 * 60 * minute;

const longestGroupWaitMs = 3 * minute;

/** No message waits for longer for others, or after one of its group. */
export const longestWaitMs = 30 * minute;

export function drawReceivers(dice: Dice, intervalMs: number): readonly ScenarioReceiver[] {
  const names = ["oncall", "team", "board"].slice(0, dice.between(1, 3));
  return names.map((name) => ({
    name,
    groupWaitMs: dice.pick([0, 5 * second, 30 * second, longestGroupWaitMs]),
    groupIntervalMs: dice
      .fork(`interval ${name}`)
      .pick([0, minute, Math.min(5 * intervalMs, longestWaitMs)]),
    groupLimit: dice.fork(`merge ${name}`).pick([5, 20, 1, 2]),
    giveUpAfterMs: dice.fork(`patience ${name}`).pick([day, day, day, 20 * minute]),
    groupBy: dice.pick([
      ["rule", "region", "key"],
      ["rule"],
      ["rule", "region", "sandbox_id"],
      ["server_name"],
    ]),
    sendResolved: dice.chance(0.8),
    sendAcknowledged: dice.fork(name).chance(0.5),
  }));
}

export function drawPagerduty(dice: Dice, rules: readonly ScenarioRule[]): ExtraReceiver | null {
  return dice.chance(0.3) ? { name: "pager", rules: some(dice, namesOf(rules)) } : null;
}

function namesOf(named: readonly { readonly name: string }[]): readonly string[] {
  return named.map(({ name }) => name);
}

/** One stage in most worlds; in the others receivers come and go, and rules name others. */
export function drawStages(
  dice: Dice,
  receivers: readonly ScenarioReceiver[],
  rules: readonly ScenarioRule[],
  calmMs: number,
): Stages {
  const names = namesOf(receivers);
  let wanted = new Map(rules.map((rule) => [rule.name, rule.receivers]));
  const first = { fromMs: 0, receivers: new Set(names), routes: wanted };
  const [permanent = "", ...others] = names;
  const [one] = others;
  if (one === undefined || !dice.chance(0.4)) return [first];

  // Another receiver also gets what is for a receiver that does not return.
  const leaves = dice.chance(0.25) ? dice.pick([one, ...others]) : null;
  const routesIn = (present: ReadonlySet<string>): Stage["routes"] =>
    new Map(
      Array.from(wanted, ([rule, all]) => {
        const named = all.filter((name) => present.has(name));
        const isKnown = named.some((name) => name !== leaves);
        return [rule, isKnown ? named : [permanent, ...named]];
      }),
    );
  const stages: [Stage, ...Stage[]] = [{ ...first, routes: routesIn(first.receivers) }];
  const times = Array.from({ length: dice.between(2, 6) }, () => dice.random());
  let present: ReadonlySet<string> = first.receivers;
  for (const [at, share] of times.toSorted((a, b) => a - b).entries()) {
    if (at === times.length - 1) {
      present = new Set(names.filter((name) => name !== leaves));
    } else if (dice.chance(0.75)) {
      present = present.symmetricDifference(new Set([dice.pick([one, ...others])]));
    } else {
      const changed = dice.between(0, rules.length - 1);
      wanted = new Map(
        rules.map(({ name }, index) => {
          const drawn = names.filter(() => dice.chance(0.6));
          return [name, index === changed ? drawn : (wanted.get(name) ?? [])];
        }),
      );
    }
    const fromMs = Math.round((0.05 + 0.85 * share) * calmMs);
    stages.push({ fromMs, receivers: present, routes: routesIn(present) });
  }
  return stages;
}

export function stageAt(stages: Stages, atMs: number): Stage {
  return stages.findLast(({ fromMs }) => fromMs <= atMs) ?? stages[0];
}
