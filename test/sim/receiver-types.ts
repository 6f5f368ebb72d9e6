import type { Dice } from "./support/dice.ts";
import type { Scenario, ScenarioReceiver, ScenarioRule } from "./scenario.ts";

/** PagerDuty gets an event for each incident. When a message for Slack was made it does not say. */
export function asItsType(receiver: ScenarioReceiver): ScenarioReceiver {
  if (receiver.type === "webhook") return receiver;
  if (receiver.type === "slack") return { ...receiver, groupIntervalMs: 0, mergeAbove: 1_000 };
  return { ...receiver, groupBy: ["incident"], groupIntervalMs: 0, mergeAbove: Infinity };
}

/**
 * Whether a receiver is told of incidents without their ids. What goes on after a silence is another incident
 * that began when the first one did, so that nobody could tell them apart: in such a world nothing is silenced.
 */
export function namesNoIds({ receivers }: Pick<Scenario, "receivers">): boolean {
  return receivers.some(({ type }) => type === "slack");
}

/** A message for Slack names no ids: somebody else hears of all that it speaks of. */
export function heardByOthers(
  rules: readonly ScenarioRule[],
  receivers: readonly ScenarioReceiver[],
): readonly ScenarioRule[] {
  const [first] = receivers;
  const others = receivers.filter(({ type }) => type !== "slack").map(({ name }) => name);
  return rules.map((rule) =>
    first === undefined || rule.receivers.some((name) => others.includes(name))
      ? rule
      : { ...rule, receivers: [first.name, ...rule.receivers] },
  );
}

/** An Alertmanager that some rules name besides their other receivers. */
export interface ScenarioAlertmanager {
  readonly name: string;
  /** The names of the rules. */
  readonly rules: readonly string[];
}

/** Every minute of such a world takes a request. */
const longestPostedMs = 5 * 60_000;

export function drawAlertmanager(
  dice: Dice,
  intervalMs: number,
  rules: readonly ScenarioRule[],
): ScenarioAlertmanager | null {
  if (intervalMs > longestPostedMs || !dice.chance(0.3)) return null;
  const names = rules.map(({ name }) => name);
  const chosen = names.filter(() => dice.chance(0.7));
  return { name: "alarms", rules: chosen.length > 0 ? chosen : names.slice(0, 1) };
}
