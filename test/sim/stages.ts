import type { ScenarioReceiver, ScenarioRule } from "./scenario.ts";
import type { Dice } from "./support/dice.ts";

/** What the configuration says of receivers from a time on. The process that runs then reloads it. */
export interface Stage {
  /** Milliseconds since the world began. */
  readonly fromMs: number;
  readonly receivers: ReadonlySet<string>;
  /** Whom each rule names. */
  readonly routes: ReadonlyMap<string, readonly string[]>;
}

/** One stage in most worlds; in the others receivers come and go and rules name others. */
export function drawStages(
  dice: Dice,
  receivers: readonly ScenarioReceiver[],
  rules: readonly ScenarioRule[],
  calmMs: number,
): readonly [Stage, ...Stage[]] {
  const names = receivers.map(({ name }) => name);
  let wanted = new Map(rules.map((rule) => [rule.name, rule.receivers]));
  const first = { fromMs: 0, receivers: new Set(names), routes: wanted };
  const [stays = "", ...others] = names;
  const [one] = others;
  if (one === undefined || !dice.chance(0.4)) return [first];

  // Somebody else hears of all that a receiver hears which does not return.
  const leaves = dice.chance(0.25) ? dice.pick([one, ...others]) : null;
  const slack = receivers.find(({ type }) => type === "slack")?.name;
  const routesIn = (present: ReadonlySet<string>): Stage["routes"] =>
    new Map(
      Array.from(wanted, ([rule, all]) => {
        const some = all.filter((name) => present.has(name));
        return [
          rule,
          some.some((name) => name !== leaves && name !== slack) ? some : [stays, ...some],
        ];
      }),
    );
  const stages: [Stage, ...Stage[]] = [{ ...first, routes: routesIn(first.receivers) }];
  const times = Array.from({ length: dice.between(2, 6) }, () => dice.random());
  let present: ReadonlySet<string> = first.receivers;
  for (const [at, share] of times.toSorted((a, b) => a - b).entries()) {
    if (at === times.length - 1) {
      present = new Set(names.filter((name) => name !== leaves));
    } else if (dice.chance(0.75)) {
      const name = dice.pick([one, ...others]);
      present = new Set(names.filter((each) => (each === name) !== present.has(each)));
    } else {
      const changed = dice.between(0, rules.length - 1);
      wanted = new Map(
        rules.map(({ name }, index) => {
          const some = names.filter(() => dice.chance(0.6));
          return [name, index === changed ? some : (wanted.get(name) ?? [])];
        }),
      );
    }
    const fromMs = Math.round((0.05 + 0.85 * share) * calmMs);
    stages.push({ fromMs, receivers: present, routes: routesIn(present) });
  }
  return stages;
}

export function stageAt(stages: readonly [Stage, ...Stage[]], atMs: number): Stage {
  return stages.findLast(({ fromMs }) => fromMs <= atMs) ?? stages[0];
}
