import { leastUniverses, probeId, type ScenarioProbe } from "../draw/probes.ts";
import type { ProbeRule } from "../draw/rules.ts";
import type { ServiceRequest, StoredRun } from "../history.ts";
import { follow } from "./check-incidents.ts";
import { backOffMs } from "./check-requests.ts";
import { hasFault, probeText, requestsFor, stalledMs, violation } from "./evidence.ts";
import type { Evidence, Violation } from "./evidence.ts";
import { advance, initialState, type Finding } from "./incident-model.ts";
import type { Observation } from "./observations.ts";
import { isObject, isRefusal, readJson } from "./read-answer.ts";
import { gatherMs } from "./target-polls.ts";

/** A stored run, and what it says of the probe. */
interface Run extends Observation {
  readonly result: Result;
  /** Before it a run may have sent nothing, as the key was refused: that shows nowhere. */
  readonly isAfterUnknown: boolean;
}

/** `failed_with_target`: by a failure of every call of the target. */
type Result = "succeeded" | "failed" | "failed_with_target";

/** The notifications of probes are those that their runs call for. */
export function checkProbes(evidence: Evidence, rule: ProbeRule): readonly Violation[] {
  const { targets, probes } = evidence.scenario;
  const notified = evidence.incidents.filter((each) => each.rule === rule.name);
  const known = new Set<string>();
  const found = targets.flatMap(({ name: target }) => {
    return probes.flatMap((probe) => {
      const subject = probeText(probe.name, target);
      known.add(subject);
      const followed = {
        name: `probe ${subject}`,
        about: subject,
        rule,
        observations: runsOf(evidence, probe, target),
        notified: notified.filter((incident) => incident.probe === subject),
      };
      return follow(evidence, followed, initialState, (states, step, run) => {
        if (run.isAfterUnknown) return null;
        const common = { ...step, observation: run, goneAfter: 1, silenced: [false] };
        return findings[run.result].flatMap((finding) =>
          states.flatMap((state) => advance(state, { ...common, finding })),
        );
      });
    });
  });
  const invented = notified.filter(({ probe }) => probe === null || !known.has(probe));
  return [
    ...found,
    ...invented.map(({ id, probe }) => violation(`${rule.name}: ${id} of no probe (${probe})`, id)),
  ];
}

/** While an incident of the target is notified, failures of every call of it say nothing of its probes. */
const findings: Readonly<Record<Result, readonly Finding[]>> = {
  succeeded: ["clears"],
  failed: ["holds"],
  failed_with_target: ["holds", "unstated"],
};

/** The stored runs of a probe, in order. */
function runsOf(evidence: Evidence, probe: ScenarioProbe, target: string): readonly Run[] {
  const runs: Run[] = [];
  let before: StoredRun | null = null;
  let refused = 0;
  for (const stored of evidence.storedRuns) {
    if (stored.probe !== probe.name || stored.target !== target) continue;
    const { life, moment, atMs } = stored;
    const since = before?.moment ?? -1;
    const ended = requestsFor(evidence, target, life, probe.path).filter(
      ({ exchange: { end } }) => end !== null && end.moment > since && end.moment <= moment,
    );
    const own = ended.at(-1);
    const last = before?.life === life ? runs.at(-1) : undefined;
    const isBroken = hasFault(evidence, life, Math.max(0, since), atMs);
    const isAfterUnknown =
      (isBroken && ended.some((each) => each !== own && isRefusal(each))) ||
      backOffMs(refused, probe.everyMs) > probe.everyMs / 2;
    refused = own && isRefusal(own) ? refused + 1 : 0;
    const result = own ? resultOf(probe, own) : "failed_with_target";
    const run = observationOf(evidence, stored, own, isBroken ? undefined : last);
    const mostMs = last ? atMs - last.fromMs : 0;
    runs.push({ ...run, mostMs, result, isAfterUnknown });
    before = stored;
  }
  return runs;
}

function observationOf(
  evidence: Evidence,
  { life, moment, atMs: toMs, utcMs }: StoredRun,
  own: ServiceRequest | undefined,
  last: Run | undefined,
): Omit<Observation, "mostMs"> {
  const waitedMs = gatherMs + stalledMs(evidence, toMs - 3_000, toMs);
  const end = own?.exchange.end ?? { moment, atMs: toMs - waitedMs, utcMs: utcMs - waitedMs };
  const leastMs = last ? Math.max(0, end.atMs - last.toMs) : 0;
  return { life, moment: end.moment, utcMs: end.utcMs, fromMs: end.atMs, toMs, leastMs };
}

function resultOf(probe: ScenarioProbe, { answer, exchange }: ServiceRequest): Result {
  if (exchange.end?.how !== "whole" || answer === null) return "failed_with_target";
  const { status } = answer;
  if (probe.expects === "refusal" && status === 404) return "succeeded";
  if (probe.expects === "refusal" && status === 200) return "failed";
  if (status === 200) return isUsual(probe, readJson(answer)) ? "succeeded" : "failed";
  const isOfAll = status === 401 || status === 403 || status === 429 || status >= 500;
  return isOfAll ? "failed_with_target" : "failed";
}

/** Whether an answer is what the probe expects. */
function isUsual({ operation }: ScenarioProbe, body: unknown): boolean {
  if (!isObject(body)) return false;
  const { userId, universes, git, success } = body;
  switch (operation) {
    case "user":
      return userId === probeId;
    case "universes":
      return Array.isArray(universes) && universes.filter(isObject).length >= leastUniverses;
    case "universe-data":
      return isObject(git) && git["files"] !== undefined && git["files"] !== null;
    case "white-label":
      return success === true;
  }
}
