import { targetName } from "../../fleet/model.ts";
import { counted } from "../../fleet/text.ts";
import { ageOf, html, type Html } from "../html.ts";
import { countAll, type FleetTotals } from "./fleet-totals.ts";
import type { Firing, FiringView } from "./firing.ts";
import { receiversText } from "./fleet-list.ts";
import { isFailing, type QuietView } from "./quiet-cards.ts";
import { totalsText } from "./status-bar.ts";

export interface Headline {
  readonly tone: "bad" | "good" | "quiet";
  /** What stands out of the sentence; empty: nothing. */
  readonly emphasis: string;
  readonly rest: string;
  /** Sentences with details. */
  readonly details: readonly Html[];
}

/** Whether anything is wrong, in a sentence. */
export function composeHeadline(
  view: FiringView & QuietView,
  firing: Firing,
  totals: FleetTotals,
  nowMs: number,
): Headline {
  const { targets, receivers } = view;
  const { groups, silenced, cleared, unobserved, inhibited, pending } = firing;
  const { all, sandboxes } = totals;
  const { down, unpolled } = unobservedTargets(targets);
  const urgent = groups.filter(({ isAcknowledged }) => !isAcknowledged);
  const [worst] = urgent;
  const acknowledged = groups.length - urgent.length;
  const servers = countAll(all);
  const boxes = countAll(sandboxes);
  const failingTo = new Set(urgent.flatMap((group) => group.failingTo));
  const waitingFor = new Set(urgent.flatMap((group) => group.waitingFor)).difference(failingTo);
  const missing = failingTo.union(waitingFor);
  const notified = [...new Set(urgent.flatMap((group) => group.receivers)).difference(missing)];
  const [oldestMs = null] = targets
    .flatMap(({ withheld, state }) => (withheld && state.progress.lastSuccessAtMs) || [])
    .toSorted((one, other) => one - other);
  const [firedAtMs = null] = urgent
    .flatMap((group) => group.firedAtMs ?? [])
    .toSorted((one, other) => other - one);
  const details = [
    all.unobserved > 0 &&
      html`${all.unobserved} of ${counted(servers, "server")}
      unobserved${oldestMs === null ? "" : html`, the longest for ${ageOf(oldestMs, nowMs)}`}.`,
    worst !== undefined &&
      (firedAtMs !== null && notified.length > 0
        ? html`${receiversText(notified)} ${notified.length === 1 ? "was" : "were"} notified
          ${ageOf(firedAtMs, nowMs)} ago.`
        : html`Nobody was notified${receivers.length === 0 ? ": no receiver is configured" : ""}.`),
    waitingFor.size > 0 && html`Messages wait for ${receiversText([...waitingFor])}.`,
    failingTo.size > 0 &&
      html`Messages could not be delivered to ${receiversText([...failingTo])}.`,
    groups.length > 0 &&
      down.length > 0 &&
      html`${down.length} of ${counted(targets.length, "target")} down.`,
    acknowledged > 0 && urgent.length > 0 && html`${acknowledged} acknowledged.`,
    cleared.length > 0 && html`${countIncidents(cleared)} flapping or recovering, well now.`,
    unobserved.length > 0 &&
      html`${counted(countIncidents(unobserved), "incident")} not observed at present.`,
    silenced.length > 0 && html`${countIncidents(silenced)} silenced.`,
    inhibited > 0 && html`${inhibited} inhibited.`,
    worst === undefined && pending > 0 && html`${pending} pending.`,
    unpolled.length > 0 &&
      unpolled.length < targets.length &&
      html`${counted(unpolled.length, "target")} not polled at present.`,
    worst === undefined &&
      all.unobserved + sandboxes.unobserved < servers + boxes &&
      html`${counted(servers, "server")} in ${counted(boxes, "sandbox", "sandboxes")} of
      ${counted(targets.length, "target")}${servers === 0 ? "" : html`: ${totalsText(all)}`}.`,
  ].filter((each) => each !== false);
  return { ...sentenceOf(view, firing, totals), details };
}

function sentenceOf(
  { targets, probes }: FiringView & QuietView,
  { groups, cleared }: Firing,
  { all, sandboxes }: FleetTotals,
): Omit<Headline, "details"> {
  const { down, unpolled } = unobservedTargets(targets);
  const urgent = groups.filter(({ isAcknowledged }) => !isAcknowledged);
  const [worst] = urgent;
  const acknowledged = groups.length - urgent.length;
  if (worst && urgent.length === 1)
    return { tone: "bad", emphasis: `${worst.headline}.`, rest: "" };
  if (worst) {
    const emphasis = `${urgent.length} things need attention.`;
    return { tone: "bad", emphasis, rest: `${worst.headline}.` };
  }
  if (targets.length === 0)
    return { tone: "quiet", emphasis: "", rest: "No target is configured." };
  if (down.length > 0) {
    const [first] = down;
    const what =
      down.length === 1 && first
        ? `${targetName(first.target)} is`
        : `${down.length} of ${targets.length} targets are`;
    return {
      tone: "bad",
      emphasis: `${what} down.`,
      rest: acknowledged > 0 ? "That is acknowledged." : "",
    };
  }
  if (unpolled.length === targets.length)
    return { tone: "quiet", emphasis: "", rest: "Not polled yet." };
  // Their last state is too old to say anything of the present.
  const lost = unpolled.filter(({ withheld }) => withheld).length;
  if (lost > 0) {
    const rest = `${lost} of ${counted(targets.length, "target")} not polled at present.`;
    return { tone: "quiet", emphasis: "", rest };
  }
  if (acknowledged > 0) {
    const rest = `${counted(acknowledged, "known thing is", "known things are")} acknowledged. Nothing else is firing.`;
    return { tone: "quiet", emphasis: "", rest };
  }
  // As before a rule holds for long enough, while it is silenced, or where no rule is about it.
  const erring = [
    ...(sandboxes.error > 0 ? [counted(sandboxes.error, "sandbox", "sandboxes")] : []),
    ...(all.error > 0 ? [counted(all.error, "server")] : []),
  ].join(" and ");
  if (erring !== "") {
    const verb = sandboxes.error + all.error === 1 ? "is" : "are";
    const rest = `No incident is firing, but ${erring} ${verb} in error.`;
    return { tone: "quiet", emphasis: "", rest };
  }
  const [recovering] = cleared;
  if (recovering) return { tone: "quiet", emphasis: "", rest: `${recovering.headline}.` };
  const failing = probes.filter(isFailing).length;
  if (failing > 0) {
    const rest = `No incident is firing; ${counted(failing, "probe fails", "probes fail")}.`;
    return { tone: "quiet", emphasis: "", rest };
  }
  return { tone: "good", emphasis: "All is well.", rest: "" };
}

function unobservedTargets(targets: FiringView["targets"]) {
  return {
    down: targets.filter(({ polled, up }) => polled && !up),
    unpolled: targets.filter(({ polled }) => !polled),
  };
}

function countIncidents(groups: Firing["groups"]): number {
  return groups.reduce((sum, { incidents }) => sum + incidents.length, 0);
}
