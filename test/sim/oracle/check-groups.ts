import type { Attempt, History } from "../history.ts";
import type { Scenario, ScenarioReceiver } from "../scenario.ts";
import { violation } from "./violation.ts";
import type { Violation } from "./violation.ts";

/** A message with the groups that it tells of. */
interface Telling {
  readonly attempt: Attempt;
  readonly createdUtcMs: number;
  readonly groups: ReadonlySet<string>;
  readonly subjects: ReadonlySet<string>;
}

/** That messages tell of one group each, or of many subjects, and do not follow too soon. */
export function checkGroups(scenario: Scenario, history: History): readonly Violation[] {
  return scenario.receivers.flatMap((receiver) => {
    const first = new Map<string, Attempt>();
    for (const attempt of history.attempts) {
      if (attempt.receiver !== receiver.name || first.has(attempt.webhookId)) continue;
      first.set(attempt.webhookId, attempt);
    }
    const tellings = [...first.values()].map((attempt) => readTelling(attempt, receiver));
    return [...checkMixed(receiver, tellings), ...checkIntervals(history, receiver, tellings)];
  });
}

function readTelling(attempt: Attempt, { groupBy }: ScenarioReceiver): Telling {
  const { timestamp, data } = attempt.message;
  const valueOf = (incident: (typeof data.incidents)[number], field: string): string => {
    switch (field) {
      case "rule":
        return data.rule;
      case "region":
        return incident.region ?? "";
      case "key":
        return incident.key ?? "";
      case "sandbox_id":
        return incident.sandbox_id ?? "";
      default:
        return incident.server_name ?? "";
    }
  };
  const textOf = (incident: (typeof data.incidents)[number]): string =>
    [data.rule, ...groupBy.map((field) => valueOf(incident, field))].join(" ");
  const subjectOf = ({
    region,
    key,
    sandbox_id: box,
    server_id: id,
    server_name: name,
    subject,
    probe,
    receiver,
  }: (typeof data.incidents)[number]): string =>
    [region, key, box, id, subject === "pool" ? name : "", probe, receiver].join(" ");
  return {
    attempt,
    createdUtcMs: Date.parse(timestamp),
    groups: new Set(data.incidents.map(textOf)),
    subjects: new Set(data.incidents.map(subjectOf)),
  };
}

/** What was made into messages at once may have been merged, if it is about so many. */
function mayBeMerged(
  telling: Telling,
  { mergeAbove }: ScenarioReceiver,
  tellings: readonly Telling[],
): boolean {
  const { rule } = telling.attempt.message.data;
  const together = tellings.filter(
    ({ createdUtcMs, attempt }) =>
      createdUtcMs === telling.createdUtcMs && attempt.message.data.rule === rule,
  );
  return new Set(together.flatMap((each) => [...each.subjects])).size > mergeAbove;
}

function checkMixed(
  receiver: ScenarioReceiver,
  tellings: readonly Telling[],
): readonly Violation[] {
  return tellings.flatMap((telling) => {
    if (telling.groups.size <= 1 || mayBeMerged(telling, receiver, tellings)) return [];
    const { name } = receiver;
    const { webhookId } = telling.attempt;
    return [violation(`${name}: ${webhookId} mixes groups without need`, webhookId)];
  });
}

function checkIntervals(
  { wallClocks }: History,
  receiver: ScenarioReceiver,
  tellings: readonly Telling[],
): readonly Violation[] {
  const { name, groupWaitMs, groupIntervalMs } = receiver;
  // A wall clock that is stepped must not have anything wait for longer.
  if (groupIntervalMs <= groupWaitMs || wallClocks.length > 1) return [];
  const latest = new Map<string, number>();
  const found: Violation[] = [];
  const inOrder = tellings.toSorted((one, other) => one.createdUtcMs - other.createdUtcMs);
  for (const telling of inOrder) {
    const { attempt, createdUtcMs, groups } = telling;
    for (const group of groups) {
      const before = latest.get(group);
      latest.set(group, createdUtcMs);
      // What is merged with others is told when the first of them is due.
      if (before === undefined || createdUtcMs === before) continue;
      if (createdUtcMs - before >= groupIntervalMs) continue;
      if (mayBeMerged(telling, receiver, tellings)) continue;
      const { webhookId } = attempt;
      found.push(
        violation(`${name}: ${webhookId} came too soon after one of its group`, webhookId),
      );
    }
  }
  return found;
}
