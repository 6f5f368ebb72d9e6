import { statuses, type ByStatus, type Scrape } from "../history.ts";
import { longestOutageMs, type ScenarioTarget } from "../scenario.ts";
import { countOf, sum } from "./buckets.ts";
import { hasFault, timesOf, violation } from "./evidence.ts";
import type { Evidence, Violation } from "./evidence.ts";
import { knownAt, type Known } from "./known-target.ts";
import type { TargetHistory } from "./target-history.ts";

/** One sample of the Prometheus text format. */
interface Sample {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

const mostViolations = 6;

/** Metrics and readiness agree with the record wherever it is certain. */
export function checkScrapes(
  evidence: Evidence,
  histories: ReadonlyMap<string, TargetHistory>,
): readonly Violation[] {
  const found = evidence.scrapes.flatMap((scrape) => {
    const known = new Map(
      evidence.scenario.targets.map((target) => [
        target,
        knownAt(evidence, target.name, histories.get(target.name), scrape),
      ]),
    );
    const all = [...known.values()];
    const samples = scrape.metrics === null ? [] : readSamples(scrape.metrics);
    const ofTargets = Array.from(known).flatMap(([target, each]) =>
      targetFaults(target, each, histories.get(target.name), samples),
    );
    const isSettled = all.every(({ kind }) => kind === "settled");
    const faults = [
      ...readyFaults(scrape, all, isSettled),
      ...(samples.length === 0
        ? []
        : [
            ...ofTargets,
            ...(isSettled ? incidentFaults(evidence, scrape, samples) : []),
            ...deadFaults(evidence, scrape, samples),
          ]),
    ];
    return faults.map((fault) => violation(`a scrape at ${scrape.atMs} ms: ${fault}`));
  });
  return found.slice(0, mostViolations);
}

/** Label values here hold no escapes. */
function readSamples(text: string): readonly Sample[] {
  return text.split("\n").flatMap((line): readonly Sample[] => {
    const match = /^([a-z_:][\w:]*)(?:\{(.*)\})? (\S+)$/i.exec(line);
    if (!match) return [];
    const [, name = "", labels = "", value] = match;
    const pairs = labels
      .matchAll(/(\w+)="([^"]*)"/g)
      .map(([, label, shown = ""]) => [label, shown]);
    return [{ name, labels: Object.fromEntries(pairs), value: Number(value) }];
  });
}

function valueOf(
  samples: readonly Sample[],
  name: string,
  labels: Sample["labels"] = {},
): number | undefined {
  return samples.find(
    (sample) =>
      sample.name === name &&
      Object.entries(labels).every(([label, value]) => sample.labels[label] === value),
  )?.value;
}

function readyFaults({ ready }: Scrape, known: readonly Known[], isSettled: boolean) {
  if (ready !== 200) return isSettled ? [`not ready (${ready}), though all polls were stored`] : [];
  return known.flatMap(({ kind }) =>
    kind === "lost" || kind === "unpolled" ? [`ready, though a target is ${kind}`] : [],
  );
}

function targetFaults(
  { name, region, key }: ScenarioTarget,
  known: Known,
  history: TargetHistory | undefined,
  samples: readonly Sample[],
): readonly string[] {
  if (known.kind === "unpolled" || known.kind === "uncertain") return [];
  const isUp = valueOf(samples, "sandwatch_target_up", { region, key }) === 1;
  if (known.kind === "lost") {
    return isUp ? [`${name} is shown as up, though its last poll was not stored`] : [];
  }
  if (isUp !== known.isUp) return [`${name} is shown as ${isUp ? "up" : "down"}, wrongly`];
  if (!known.isUp || !history) return [];
  return (["servers", "sandboxes"] as const).flatMap((what) => {
    const truth = what === "servers" ? history.truth : history.boxes;
    return countFaults(name, what, countOf(truth.known(known.poll).values()), (status) => {
      const own = samples.filter(
        (sample) =>
          sample.name === `sandbox_${what}` &&
          sample.labels["region"] === region &&
          sample.labels["key"] === key &&
          sample.labels["status"] === status,
      );
      return sum(own.map(({ value }) => value));
    });
  });
}

function countFaults(
  target: string,
  what: "servers" | "sandboxes",
  counts: ByStatus<number>,
  shown: (status: string) => number,
): readonly string[] {
  return statuses
    .filter((status) => shown(status) !== counts[status])
    .map((status) => {
      return `${target} has ${counts[status]} ${what} ${status}, ${shown(status)} are shown`;
    });
}

/** At least the incidents are shown that receivers were notified of, and that end later. */
function incidentFaults(
  evidence: Evidence,
  { atMs, life }: Scrape,
  samples: readonly Sample[],
): readonly string[] {
  return evidence.scenario.rules.flatMap(({ name, on }) => {
    const states = ["inhibited", "silenced", "acknowledged", "firing"];
    const shown = states.reduce(
      (all, state) =>
        all + (valueOf(samples, "sandwatch_incidents", { rule: name, state }) ?? Number.NaN),
      0,
    );
    // A process of another configuration may not have the rule.
    if ((on !== "server" && on !== "sandbox") || Number.isNaN(shown)) return [];
    const firing = evidence.incidents.filter(
      ({ rule, notifiedMs, resolved }) =>
        rule === name &&
        notifiedMs < atMs &&
        resolved !== null &&
        (timesOf(evidence, resolved.utcMs)[0] ?? 0) > atMs,
    );
    if (shown >= firing.length) return [];
    return [`${name} has ${firing.length} firing incidents, process ${life} shows ${shown}`];
  });
}

function deadFaults(
  evidence: Evidence,
  { life, moment, atMs }: Scrape,
  samples: readonly Sample[],
): readonly string[] {
  const { receivers, calmMs } = evidence.scenario;
  // Later, dead letters are replayed.
  if (atMs >= calmMs) return [];
  return receivers.flatMap(({ name, giveUpAfterMs }) => {
    const refused = evidence.attempts.filter(
      (each) =>
        each.receiver === name && each.atMs <= atMs && (each.refused?.moment ?? Infinity) < moment,
    );
    const sure = refused.filter(
      (each) =>
        each.life === life &&
        atMs > each.atMs + 1_300 &&
        !hasFault(evidence, life, each.refused?.moment ?? 0),
    );
    const [least, possible] = [sure, refused].map(
      (some) => new Set(some.map(({ webhookId }) => webhookId)).size,
    );
    const most = giveUpAfterMs < longestOutageMs ? Infinity : (possible ?? 0);
    const shown = valueOf(samples, "sandwatch_notifications_dead", { receiver: name });
    if (shown === undefined || (shown >= (least ?? 0) && shown <= most)) return [];
    return [`${name} has ${least} to ${most} dead notifications, ${shown} are shown`];
  });
}
