import { statuses } from "../history.ts";
import type { History, KeptPoll, Scrape, Sighting } from "../history.ts";
import { longestOutageMs, longestWaitMs } from "../scenario.ts";
import type { Scenario, ScenarioTarget } from "../scenario.ts";
import { damagesBetween, forgottenBetween, lostMessages } from "./damages.ts";
import { readSamples } from "./samples.ts";
import type { Sample } from "./samples.ts";
import { violation } from "./violation.ts";
import type { Violation } from "./violation.ts";

/** How many servers a rule may have incidents of at a moment, by the courses that are possible. */
export interface Standing {
  readonly rule: string;
  readonly target: string;
  readonly server: string;
  /** The process that saw it. */
  readonly life: number;
  /** From this moment on, until the next of the same. */
  readonly moment: number;
  readonly least: number;
  readonly most: number;
}

/** What is known of a target at a scrape. */
type Known =
  /** The last request's answer was kept as a poll, and nothing has been sent since. */
  | { readonly kind: "settled"; readonly poll: KeptPoll; readonly sighting: Sighting | null }
  /** A poll has certainly ended that the store did not take. */
  | { readonly kind: "lost" }
  /** No poll has ended since the process started. */
  | { readonly kind: "unpolled" }
  | { readonly kind: "uncertain" };

/** Longer than anything takes that is done once a poll has ended. */
const settlingMs = 300;

/** That metrics and readiness agree with the record, wherever it is certain. */
export function checkScrapes(
  scenario: Scenario,
  history: History,
  standings: readonly Standing[],
): readonly Violation[] {
  const byRequest = new Map(history.sightings.map((each) => [each.request, each]));
  const found = history.scrapes.flatMap((scrape) => {
    const known = new Map(
      scenario.targets.map((target) => [target, knownOf(history, byRequest, scrape, target.name)]),
    );
    const samples = scrape.metrics === null ? [] : readSamples(scrape.metrics);
    const says = (text: string, ...about: readonly string[]): Violation =>
      violation(`a scrape at ${scrape.atMs} ms: ${text}`, ...about);
    const texts = [
      ...checkReady(scrape, [...known.values()]),
      ...(samples.length === 0
        ? []
        : [
            ...Array.from(known).flatMap(([target, each]) =>
              checkTargetSamples(scenario, history, target, each, samples),
            ),
            ...checkIncidents(scenario, history, scrape, [...known.values()], samples, standings),
            ...checkDead(scenario, history, scrape, samples),
            ...checkCommitFailures(scenario, history, scrape, samples),
          ]),
    ];
    return texts.map((text) => says(text));
  });
  return found.slice(0, mostToTell);
}

const mostToTell = 6;

function knownOf(
  history: History,
  byRequest: ReadonlyMap<number, Sighting>,
  { life, moment, atMs }: Scrape,
  target: string,
): Known {
  const own = Array.from(history.requests.entries()).filter(
    ([, request]) =>
      request.life === life &&
      request.target === target &&
      request.path === "/local-sandbox" &&
      request.exchange.sentMs <= atMs,
  );
  const kept = history.keptPolls.filter(
    (poll) => poll.life === life && poll.target === target && poll.moment < moment,
  );
  const [index, last] = own.at(-1) ?? [];
  if (last === undefined || index === undefined) {
    const watchMs = history.lives[life - 1]?.watchMs ?? null;
    return kept.length === 0 && watchMs === null ? { kind: "unpolled" } : { kind: "uncertain" };
  }
  const { end } = last.exchange;
  if (end === null || end.moment >= moment) {
    return own.length === 1 && kept.length === 0 ? { kind: "unpolled" } : { kind: "uncertain" };
  }
  const sighting = byRequest.get(index) ?? null;
  if (atMs < end.atMs + settlingMs + (history.stalls.get(end.moment) ?? 0)) {
    return { kind: "uncertain" };
  }
  const [poll, ...later] = kept.filter((each) => each.moment >= end.moment);
  if (!poll) return sighting ? { kind: "lost" } : { kind: "uncertain" };
  return later.length > 0 || hasFaults(history, life, end.moment)
    ? { kind: "uncertain" }
    : { kind: "settled", poll, sighting };
}

function hasFaults({ storeFaults }: History, life: number, sinceMoment: number): boolean {
  return Array.from(storeFaults).some(([moment, hit]) => hit === life && moment >= sinceMoment);
}

function checkReady({ ready }: Scrape, known: readonly Known[]): readonly string[] {
  if (ready === 200) {
    return known.flatMap(({ kind }) =>
      kind === "lost" || kind === "unpolled" ? [`ready, though a target is ${kind}`] : [],
    );
  }
  return known.every(({ kind }) => kind === "settled")
    ? [`not ready (${ready}), though all polls were kept`]
    : [];
}

function checkTargetSamples(
  { goneAfter }: Scenario,
  history: History,
  { name, region, key }: ScenarioTarget,
  known: Known,
  samples: readonly Sample[],
): readonly string[] {
  if (known.kind === "unpolled" || known.kind === "uncertain") return [];
  const own = samples.filter(({ labels }) => labels["region"] === region && labels["key"] === key);
  const up = own.find((sample) => sample.name === "sandwatch_target_up")?.value;
  if (known.kind === "lost") {
    return up === 1 ? [`${name} is shown as up, though its last poll was not stored`] : [];
  }
  const expected = known.sighting === null ? 0 : 1;
  if (up !== expected) return [`${name} is shown as ${up === 1 ? "up" : "down"}, wrongly`];
  if (known.sighting === null) return [];
  const counts = countServers(history, name, known.poll, goneAfter);
  return statuses.flatMap((status) => {
    const shown = own
      .filter((sample) => sample.name === "sandbox_servers" && sample.labels["status"] === status)
      .reduce((total, { value }) => total + value, 0);
    const count = counts.get(status) ?? 0;
    return shown === count ? [] : [`${name} has ${count} servers ${status}, ${shown} are shown`];
  });
}

/** How many servers of a target there are in each status, after a poll that was kept. */
export function countServers(
  history: History,
  target: string,
  until: KeptPoll,
  goneAfter: number,
  byLife = until.life,
): ReadonlyMap<string, number> {
  const { sightings, keptPolls } = history;
  const known = new Map<string, { readonly status: string; readonly lacking: number }>();
  const forget = (earlier: number, later: number): void => {
    for (const server of forgottenBetween(history, target, earlier, later)) known.delete(server);
  };
  const kept = keptPolls.filter((poll) => poll.target === target && poll.moment <= until.moment);
  const own = sightings.filter((each) => each.target === target);
  for (const [at, poll] of kept.entries()) {
    const before = kept[at - 1]?.moment ?? -1;
    forget(kept[at - 1]?.life ?? 0, poll.life);
    const sighting = own.findLast(
      ({ moment, life }) => life === poll.life && moment <= poll.moment && moment >= before,
    );
    if (!sighting || (at > 0 && sighting.moment === before)) continue;
    for (const [server, { status }] of sighting.shown) known.set(server, { status, lacking: 0 });
    if (!sighting.complete) continue;
    for (const [server, { status, lacking }] of known) {
      if (sighting.shown.has(server)) continue;
      if (lacking + 1 >= goneAfter) known.delete(server);
      else known.set(server, { status, lacking: lacking + 1 });
    }
  }
  forget(until.life, byLife);
  const counts = new Map<string, number>();
  for (const { status } of known.values()) counts.set(status, (counts.get(status) ?? 0) + 1);
  return counts;
}

function checkIncidents(
  { rules }: Scenario,
  history: History,
  { moment, atMs, life }: Scrape,
  known: readonly Known[],
  samples: readonly Sample[],
  standings: readonly Standing[],
): readonly string[] {
  // Servers are followed until what is told of them may not come any more before the end.
  if (atMs > history.endMs - 1.5 * longestWaitMs) return [];
  if (!known.every(({ kind }) => kind === "settled")) return [];
  return rules.flatMap(({ name, on }) => {
    if (on !== "server") return [];
    const shown = samples.find(
      (sample) =>
        sample.name === "sandwatch_incidents" &&
        sample.labels["rule"] === name &&
        sample.labels["state"] === "firing",
    )?.value;
    // A process of another configuration may not have the rule.
    if (shown === undefined) return [];
    const latest = new Map<string, Standing>();
    for (const each of standings) {
      if (each.rule !== name || each.moment >= moment) continue;
      latest.set(`${each.target} ${each.server}`, each);
    }
    // Another process may have the rule with another condition: then it ends incidents at its start.
    const isSame = (each: Standing): boolean =>
      hasSameRule(history, name, each.life, life) &&
      !damagesBetween(history, each.life, life).some(({ kind }) => kind === "incident");
    const least = [...latest.values()].reduce(
      (total, each) => total + (isSame(each) ? each.least : 0),
      0,
    );
    const most = [...latest.values()].reduce((total, each) => total + each.most, 0);
    return shown >= least && shown <= most
      ? []
      : [`${name} has ${least} to ${most} firing incidents, process ${life} shows ${shown}`];
  });
}

function hasSameRule({ lives }: History, name: string, one: number, other: number): boolean {
  const [first, second] = [one, other].map((life) =>
    lives[life - 1]?.rules.find((rule) => rule.name === name),
  );
  return first === second;
}

/** The polls that were certainly not stored are counted; where the store refused nothing, there are none. */
function checkCommitFailures(
  { targets }: Scenario,
  history: History,
  { life, moment, atMs }: Scrape,
  samples: readonly Sample[],
): readonly string[] {
  const shown = samples.find(({ name }) => name === "sandwatch_store_commit_failures_total")?.value;
  const least = targets.reduce((total, { name }) => {
    const own = history.sightings.filter(
      (each) =>
        each.life === life &&
        each.target === name &&
        each.atMs + settlingMs + (history.stalls.get(each.moment) ?? 0) < atMs,
    );
    const lost = own.filter((each, at) => {
      const nextMoment = own[at + 1]?.moment ?? moment;
      return !history.keptPolls.some(
        (poll) =>
          poll.life === life &&
          poll.target === name &&
          poll.moment >= each.moment &&
          poll.moment <= nextMoment,
      );
    });
    return total + lost.length;
  }, 0);
  const isFaultless = !hasFaults(history, life, 0);
  if (shown !== undefined && shown >= least && (shown === 0 || !isFaultless)) return [];
  return [`at least ${least} polls were not stored, ${shown} are counted`];
}

function checkDead(
  { receivers, calmMs }: Scenario,
  history: History,
  { life, moment, atMs }: Scrape,
  samples: readonly Sample[],
): readonly string[] {
  // Later, people have them sent again.
  if (atMs >= calmMs) return [];
  return receivers.flatMap(({ name, giveUpAfterMs }) => {
    const own = history.attempts.filter((each) => each.receiver === name && each.atMs <= atMs);
    const refused = own.filter((each) => (each.refused?.moment ?? Infinity) < moment);
    const ids = new Set(refused.map(({ webhookId }) => webhookId));
    const sure = refused.filter(
      (each) =>
        each.life === life &&
        atMs > each.atMs + settlingMs + 1_000 &&
        !hasFaults(history, life, each.refused?.moment ?? 0),
    );
    const least = new Set(sure.map(({ webhookId }) => webhookId)).size;
    const lost = lostMessages(history, name, life).length;
    const most = giveUpAfterMs < longestOutageMs ? Infinity : ids.size + lost;
    const shown = samples.find(
      (sample) =>
        sample.name === "sandwatch_notifications_dead" && sample.labels["receiver"] === name,
    )?.value;
    if (shown === undefined || (shown >= least && shown <= most)) return [];
    return [`${name} has ${least} to ${most} dead notifications, ${shown} are shown`];
  });
}
