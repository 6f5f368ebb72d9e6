import type { Recorded } from "../history.ts";
import type { Scenario } from "../scenario.ts";
import { checkDeliveries } from "./check-deliveries.ts";
import { checkHistory } from "./check-history.ts";
import { checkStatusRule, isOnStatus } from "./check-incidents.ts";
import { checkHeartbeats, checkLives } from "./check-lives.ts";
import { checkPagerduty } from "./check-pagerduty.ts";
import { checkPools } from "./check-pools.ts";
import { checkProbes } from "./check-probes.ts";
import { checkRegion } from "./check-regions.ts";
import { checkRequests } from "./check-requests.ts";
import { checkScrapes } from "./check-scrapes.ts";
import { checkTarget } from "./check-targets.ts";
import { evidenceOf, receiverRule, violation, type Violation } from "./evidence.ts";
import { checkInhibition } from "./inhibition.ts";
import { checkStored, observationsOf } from "./observations.ts";
import { regionStatesOf } from "./region-states.ts";
import { withStatuses } from "./statuses.ts";
import { targetHistoryOf } from "./target-history.ts";
import { judgedPollsOf } from "./target-polls.ts";

/**
 * Which promises a run broke. Judges by what the service answered and the receivers got: it decides by itself
 * what an answer means, and how time is accounted for.
 */
export function judgeRun(scenario: Scenario, recorded: Recorded): readonly Violation[] {
  const evidence = withStatuses(evidenceOf(scenario, recorded));
  const { targets, rules } = scenario;
  const histories = new Map(targets.map(({ name }) => [name, targetHistoryOf(evidence, name)]));
  const polls = new Map(
    Array.from(histories, ([name, history]) => [name, judgedPollsOf(evidence, name, history)]),
  );
  const regions = new Map(
    Array.from(
      Map.groupBy(targets, ({ region }) => region),
      ([region, own]) => [region, regionStatesOf(own.map(({ name }) => polls.get(name) ?? []))],
    ),
  );
  const known = new Set([...rules.map(({ name }) => name), receiverRule]);
  const ofTargets = targets.flatMap(({ name: target, region, sandboxes }) => {
    const own = polls.get(target) ?? [];
    const observations = observationsOf(evidence, target);
    const servers = Array.from(sandboxes).flatMap(([box, ids]) => ids.map((id) => `${box} ${id}`));
    const ofRules = rules.flatMap((rule) => {
      const notified = evidence.incidents.filter(
        (each) => each.rule === rule.name && each.target === target,
      );
      if (rule.on === "target") {
        return checkTarget(evidence, { target, rule, polls: own }, notified);
      }
      if (!isOnStatus(rule)) return [];
      const subjects = rule.on === "server" ? servers : [...sandboxes.keys()];
      return subjects.flatMap((subject) => {
        const ofSubject = notified.filter((each) => each.server === subject);
        return checkStatusRule(evidence, target, subject, {
          rule,
          observations,
          notified: ofSubject,
        });
      });
    });
    const inhibition = checkInhibition(evidence, target, own, regions.get(region) ?? []);
    return [...checkStored(evidence, target, observations), ...ofRules, ...inhibition];
  });
  return [
    ...recorded.refused.map((what) => violation(what)),
    ...recorded.left.map((what) => violation(`left at the end: ${what}`)),
    ...evidence.incidents
      .filter(({ rule }) => !known.has(rule))
      .map(({ id }) => violation(`${id}: no rule`, id)),
    ...checkLives(evidence),
    ...checkRequests(evidence),
    ...checkDeliveries(evidence),
    ...checkPagerduty(evidence),
    ...Array.from(histories).flatMap(([name, history]) => checkHistory(evidence, name, history)),
    ...ofTargets,
    ...rules.flatMap((rule) => {
      if (rule.on === "region") {
        return Array.from(regions).flatMap(([region, states]) =>
          checkRegion(evidence, rule, region, states),
        );
      }
      if (rule.on === "pool") return checkPools(evidence, histories, rule);
      return rule.on === "probe" ? checkProbes(evidence, rule) : [];
    }),
    ...checkScrapes(evidence, histories),
    ...checkHeartbeats(evidence, histories),
  ];
}
