import type { History, KeptRun, ServiceRequest } from "../history.ts";
import { leastUniverses, probeId } from "../probes.ts";
import type { ScenarioProbe, ScenarioProbeRule } from "../probes.ts";
import type { Hold, Scenario } from "../scenario.ts";
import { stalledMs } from "./check-lives.ts";
import { distinct, mostFollowed } from "./check-servers.ts";
import { advance, noCourse } from "./course.ts";
import type { Course, Look } from "./course.ts";
import { expect } from "./expected.ts";
import { isObject, isRefusal, readJson } from "./read-answer.ts";
import type { Seen } from "./seen.ts";
import { probeText } from "./told.ts";
import type { ToldIncident } from "./told.ts";
import { violation } from "./violation.ts";
import type { Violation } from "./violation.ts";
import { timesOf } from "./wall-clocks.ts";

/** A run that was kept, and what it says of the probe. */
interface Run {
  readonly seen: Seen;
  /** False: nothing was sent, as the key had been refused. */
  readonly isCounted: boolean;
  readonly result: Result;
  /** Before it a refusal was not kept. What is judged next, while nothing is sent, changes no count. */
  readonly isAfterUnknown: boolean;
}

/** `failed_with_target`: for what keeps every call of the target from being answered. */
type Result = "succeeded" | "failed" | "failed_with_target";

/** That what was told of probes is what came of their runs. */
export function checkProbes(
  scenario: Scenario,
  history: History,
  rule: ScenarioProbeRule,
  allTold: readonly ToldIncident[],
): readonly Violation[] {
  const told = allTold.filter((each) => each.rule === rule.name);
  const known = new Set<string>();
  const found = scenario.targets.flatMap(({ name: target }) => {
    const outages = outagesOf(scenario, history, target, allTold);
    return scenario.probes.flatMap((probe) => {
      const subject = probeText(probe.name, target);
      known.add(subject);
      const runs = runsOf(history, probe, target);
      const own = told.filter((incident) => incident.probe === subject);
      return checkProbe(scenario, history, { rule, subject, runs, outages, told: own });
    });
  });
  const invented = told.filter(({ probe }) => probe === null || !known.has(probe));
  return [
    ...found,
    ...invented.map(({ id, probe }) => violation(`${rule.name}: ${id} of no probe (${probe})`, id)),
  ];
}

function checkProbe(
  scenario: Scenario,
  history: History,
  {
    rule,
    subject,
    runs,
    outages,
    told,
  }: {
    readonly rule: ScenarioProbeRule;
    readonly subject: string;
    readonly runs: readonly Run[];
    readonly outages: readonly Outage[];
    readonly told: readonly ToldIncident[];
  },
): readonly Violation[] {
  const seen = runs.map((run) => run.seen);
  const expected = expect(scenario, history, { rule, seen, told });
  const stand = (atMs: number): readonly Violation[] =>
    expected
      .takeFaults()
      .map((fault) =>
        violation(
          `probe ${subject}: ${fault} (run at ${atMs} ms)`,
          subject,
          ...told.map(({ id }) => id),
        ),
      );
  let courses: readonly Course[] = [noCourse];
  for (const [at, run] of runs.entries()) {
    expected.takeFaults();
    if (expected.isLate(run.seen)) break;
    if (run.isAfterUnknown) return [];
    const after = courses.flatMap((course) =>
      looksAt(run, outages).flatMap((look) =>
        advance(course, {
          at,
          seen: run.seen,
          look,
          isCounted: run.isCounted,
          rule,
          goneAfter: 1,
          silenced: [false],
          expected,
        }),
      ),
    );
    courses = distinct(after);
    if (courses.length > mostFollowed) return [];
    if (courses.length === 0) return stand(run.seen.fromMs);
  }
  expected.takeFaults();
  return courses.some((course) => expected.isAll(course)) ? [] : stand(history.endMs);
}

/** While somebody was told that the target is down, what every call of it has is not told of its probes. */
function looksAt({ seen, result }: Run, outages: readonly Outage[]): readonly Look[] {
  if (result === "succeeded") return ["clears"];
  if (result === "failed") return ["holds"];
  const { fromMs, toMs } = seen;
  if (outages.some(({ surely }) => surely.fromMs < fromMs && surely.toMs > toMs)) {
    return ["unstated"];
  }
  const isPossible = outages.some(
    ({ possibly }) => possibly.fromMs <= toMs && possibly.toMs >= fromMs,
  );
  return isPossible ? ["holds", "unstated"] : ["holds"];
}

/** The time in which somebody was told that a target is down. */
interface Outage {
  readonly surely: { readonly fromMs: number; readonly toMs: number };
  readonly possibly: { readonly fromMs: number; readonly toMs: number };
}

/** Until a poll that ended an incident has been written. */
const writingMs = 5_000;

function outagesOf(
  { rules }: Scenario,
  history: History,
  target: string,
  told: readonly ToldIncident[],
): readonly Outage[] {
  const ofTargets = new Map(
    rules.flatMap((rule) => (rule.on === "target" ? [[rule.name, rule.hold]] : [])),
  );
  return told
    .filter((incident) => ofTargets.has(incident.rule) && incident.target === target)
    .map(({ rule, startedUtcMs, heardMs, resolved }) => {
      const startMs = Math.min(heardMs, ...timesOf(history, startedUtcMs));
      const endsMs = resolved ? timesOf(history, resolved.utcMs) : [Infinity];
      const observed = history.sightings.find(
        (sighting) => sighting.target === target && sighting.atMs >= startMs,
      );
      return {
        surely: {
          fromMs: Math.min(heardMs, firedMs(history, target, ofTargets.get(rule), startMs)),
          toMs: Math.min(observed?.atMs ?? Infinity, ...endsMs),
        },
        possibly: { fromMs: startMs, toMs: Math.max(...endsMs) + writingMs },
      };
    });
}

/** When an incident that began at a time has fired, if only polls are counted. */
function firedMs(
  { keptPolls }: History,
  target: string,
  hold: Hold | undefined,
  startMs: number,
): number {
  if (!hold || !("polls" in hold)) return Infinity;
  const polls = keptPolls.filter((poll) => poll.target === target && poll.atMs >= startMs);
  return polls[hold.polls - 1]?.atMs ?? Infinity;
}

/** The runs of a probe that were kept, in order. */
function runsOf(history: History, probe: ScenarioProbe, target: string): readonly Run[] {
  const requests = history.requests.filter(
    (request) => request.target === target && request.path === probe.path,
  );
  const runs: Run[] = [];
  let before: KeptRun | null = null;
  for (const kept of history.keptRuns) {
    if (kept.probe !== probe.name || kept.target !== target) continue;
    const since = before?.moment ?? -1;
    const ended = requests.filter(({ life, exchange: { end } }) => {
      return life === kept.life && end !== null && end.moment > since && end.moment <= kept.moment;
    });
    const own = ended.at(-1);
    const last = before?.life === kept.life ? runs.at(-1) : undefined;
    const isBroken = Array.from(history.storeFaults).some(
      ([moment, hit]) => hit === kept.life && moment >= since && moment <= kept.moment,
    );
    runs.push({
      seen: seenOf(history, kept, own, last?.seen, isBroken),
      isCounted: kept.isCounted,
      result: own ? resultOf(probe, own) : "failed_with_target",
      isAfterUnknown: isBroken && ended.some((each) => each !== own && isRefusal(each)),
    });
    before = kept;
  }
  return runs;
}

/** Until what a run decided is written. */
const gatherMs = 200;

function seenOf(
  history: History,
  kept: KeptRun,
  own: ServiceRequest | undefined,
  last: Seen | undefined,
  isBroken: boolean,
): Seen {
  const { target, life, atMs: toMs } = kept;
  const heldUpMs = stalledMs(history, toMs - 3_000, toMs);
  const fromMs = own?.exchange.end?.atMs ?? toMs - gatherMs - heldUpMs;
  const utcMs = own?.exchange.end?.utcMs ?? kept.utcMs - (toMs - fromMs);
  const moment = own?.exchange.end?.moment ?? kept.moment;
  const shown = new Map();
  const at = { target, life, moment, atMs: fromMs, utcMs, complete: true, shown, request: -1 };
  return {
    sighting: at,
    certain: true,
    fromMs,
    toMs,
    leastMs: last && !isBroken ? Math.max(0, fromMs - last.toMs) : 0,
    mostMs: last ? toMs - last.fromMs : 0,
  };
}

function resultOf(probe: ScenarioProbe, { answer, exchange }: ServiceRequest): Result {
  if (exchange.end?.how !== "whole" || answer === null) return "failed_with_target";
  const { status } = answer;
  if (probe.expects === "refusal") {
    if (status === 404) return "succeeded";
    if (status === 200) return "failed";
  }
  if (status === 200) return isUsual(probe, readJson(answer)) ? "succeeded" : "failed";
  return status === 401 || status === 403 || status === 429 || status >= 500
    ? "failed_with_target"
    : "failed";
}

/** Whether an answer is what the probe expects. */
function isUsual({ operation }: ScenarioProbe, body: unknown): boolean {
  if (!isObject(body)) return false;
  switch (operation) {
    case "user":
      return body["userId"] === probeId;
    case "universes": {
      const { universes } = body;
      return Array.isArray(universes) && universes.filter(isObject).length >= leastUniverses;
    }
    case "universe-data": {
      const { git } = body;
      return isObject(git) && git["files"] !== undefined && git["files"] !== null;
    }
    case "white-label":
      return body["success"] === true;
  }
}
