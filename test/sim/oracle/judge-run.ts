import type { History, Recorded } from "../history.ts";
import type { Scenario } from "../scenario.ts";
import { checkAlertmanager } from "./check-alertmanager.ts";
import { checkDamages } from "./check-damages.ts";
import { checkAbsent, checkDeliveries } from "./check-deliveries.ts";
import { checkLives } from "./check-lives.ts";
import { checkPolling } from "./check-polling.ts";
import { checkHistory } from "./check-history.ts";
import { checkGaps } from "./check-gaps.ts";
import { checkGroups } from "./check-groups.ts";
import { checkOnlookers } from "./check-onlookers.ts";
import { checkPools } from "./check-pools.ts";
import { checkProbes } from "./check-probes.ts";
import { checkReceivers, receiverRule } from "./check-receivers.ts";
import { checkRequests } from "./check-requests.ts";
import { checkHeartbeats } from "./check-heartbeats.ts";
import { checkScrapes } from "./check-scrapes.ts";
import type { Standing } from "./check-scrapes.ts";
import { checkSchedule } from "./check-schedule.ts";
import { checkStored } from "./check-stored.ts";
import { checkStoreFiles } from "./check-store-files.ts";
import { checkServer } from "./check-servers.ts";
import { checkTarget } from "./check-targets.ts";
import { longestTurnMs } from "./due-polls.ts";
import { sightingsOf } from "./sightings.ts";
import { seenOf } from "./seen.ts";
import type { ToldIncident } from "./told.ts";
import { toldIncidents } from "./told.ts";
import { violation } from "./violation.ts";
import type { Violation } from "./violation.ts";

/**
 * Which promises a run broke. Judges by what the service answered and the receivers got: what an answer
 * means, and how time is accounted for, it decides by itself.
 */
export function judgeRun(scenario: Scenario, recorded: Recorded): readonly Violation[] {
  const history = { ...recorded, sightings: sightingsOf(recorded) };
  const told = toldIncidents(history);
  const standings: Standing[] = [];
  const ofServers = judgeTargets(scenario, history, told, (standing) => standings.push(standing));
  const known = new Set([...scenario.rules.map(({ name }) => name), receiverRule]);
  return [
    ...history.refused.map((what) => violation(what)),
    ...history.left.map((what) => violation(`left at the end: ${what}`)),
    ...told.filter(({ rule }) => !known.has(rule)).map(({ id }) => violation(`${id}: no rule`, id)),
    ...checkLives(history),
    ...checkRequests(scenario, history),
    ...checkAbsent(history),
    ...checkDeliveries(scenario, history, told),
    ...checkGroups(scenario, history),
    ...checkAlertmanager(scenario, history, told),
    ...checkReceivers(scenario, history, told),
    ...scenario.targets.flatMap((each) => checkHistory(scenario, history, each)),
    ...scenario.targets.flatMap((each) => checkGaps(history, each)),
    ...ofServers,
    ...scenario.rules.flatMap((rule) =>
      rule.on === "pool"
        ? checkPools(
            scenario,
            history,
            rule,
            told.filter((each) => each.rule === rule.name),
          )
        : [],
    ),
    ...scenario.rules.flatMap((rule) =>
      rule.on === "probe" ? checkProbes(scenario, history, rule, told) : [],
    ),
    ...checkScrapes(scenario, history, standings),
    ...checkHeartbeats(scenario, history),
    ...checkStoreFiles(history),
    ...checkDamages(history),
    ...checkOnlookers(scenario, history),
  ];
}

function judgeTargets(
  scenario: Scenario,
  history: History,
  told: readonly ToldIncident[],
  onStanding: (standing: Standing) => void,
): readonly Violation[] {
  return scenario.targets.flatMap(({ name: target, sandboxes }) => {
    const seen = seenOf(history, target, longestTurnMs(scenario));
    const servers = Array.from(sandboxes).flatMap(([box, ids]) => ids.map((id) => `${box} ${id}`));
    return [
      ...checkPolling(scenario, history, target),
      ...checkSchedule(scenario, history, target),
      ...checkStored(history, target, seen),
      ...scenario.rules.flatMap((rule) => {
        const own = told.filter((each) => each.rule === rule.name && each.target === target);
        if (rule.on === "pool" || rule.on === "probe") return [];
        return rule.on === "target"
          ? checkTarget(scenario, history, { target, seen }, rule, own)
          : servers.flatMap((server) => {
              const about = own.filter((each) => each.server === server);
              return checkServer(
                scenario,
                history,
                { target, server, seen },
                rule,
                about,
                onStanding,
              );
            });
      }),
    ];
  });
}
