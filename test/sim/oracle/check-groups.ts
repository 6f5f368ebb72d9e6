import type { ScenarioReceiver } from "../draw/receivers.ts";
import { refusedRule } from "../draw/rules.ts";
import type { Attempt } from "../history.ts";
import { subjectOf, violation } from "./evidence.ts";
import type { Evidence, MessageIncident, Violation } from "./evidence.ts";

/** A message with the groups that it is about. */
interface Grouped {
  readonly webhookId: string;
  readonly rule: string;
  readonly createdUtcMs: number;
  readonly groups: ReadonlySet<string>;
  readonly incidents: readonly MessageIncident[];
}

/** Messages are about one group each, or about many subjects, and come no sooner than the group's interval. */
export function checkGroups(evidence: Evidence): readonly Violation[] {
  return evidence.scenario.receivers.flatMap((receiver) => {
    const first = new Map<string, Attempt>();
    for (const attempt of evidence.attempts) {
      if (attempt.receiver !== receiver.name || first.has(attempt.webhookId)) continue;
      first.set(attempt.webhookId, attempt);
    }
    const messages = Array.from(first.values(), (attempt) => readGroups(attempt, receiver));
    const needless = messages.filter(
      (message) => message.groups.size > 1 && !mayBeMerged(message, receiver, messages),
    );
    const { name } = receiver;
    return [
      ...needless.map(({ webhookId }) =>
        violation(`${name}: ${webhookId} mixes groups without need`, webhookId),
      ),
      ...earlyMessages(evidence, receiver, messages).map(({ webhookId }) =>
        violation(`${name}: ${webhookId} came too soon after one of its group`, webhookId),
      ),
    ];
  });
}

function readGroups({ message, webhookId }: Attempt, { groupBy }: ScenarioReceiver): Grouped {
  const { rule, incidents } = message.data;
  return {
    webhookId,
    rule,
    createdUtcMs: Date.parse(message.timestamp),
    groups: new Set(incidents.map((incident) => groupOf(rule, incident, groupBy))),
    incidents,
  };
}

/** The key does not part targets of a region, nor the region those whose key is refused. */
function groupOf(rule: string, incident: MessageIncident, groupBy: readonly string[]): string {
  const { subject, sandbox_id, server_name } = incident;
  const isRefused = rule === refusedRule;
  const region = isRefused ? "" : incident.region;
  const key = subject === "target" && !isRefused ? "" : incident.key;
  const fields = new Map(Object.entries({ rule, region, key, sandbox_id, server_name }));
  return [rule, ...groupBy.map((field) => fields.get(field) ?? "")].join(" ");
}

/** Groups of messages that were created together may have been merged if more incidents or groups than the limit are alike. */
function mayBeMerged(
  { rule, createdUtcMs, incidents }: Grouped,
  { groupLimit, groupBy }: ScenarioReceiver,
  messages: readonly Grouped[],
): boolean {
  const together = messages.filter((each) => each.createdUtcMs === createdUtcMs);
  const others = together.filter((each) => each.rule === rule).flatMap((each) => each.incidents);
  const countAlike = (
    valueOf: (incident: MessageIncident) => string,
    counted: (incident: MessageIncident) => string,
  ): number => {
    const [value, ...more] = new Set(incidents.map(valueOf));
    if (more.length > 0) return 0;
    return new Set(others.filter((each) => valueOf(each) === value).map(counted)).size;
  };
  const causeOf = ({ subject, region, key }: MessageIncident): string =>
    rule === refusedRule
      ? JSON.stringify([subject, key])
      : JSON.stringify([subject, region, subject === "target" ? null : key]);
  const subjectText = (incident: MessageIncident): string => JSON.stringify(subjectOf(incident));
  const isWithPool = together.some((each) =>
    each.incidents.some(({ subject }) => subject === "pool"),
  );
  return (
    countAlike(causeOf, subjectText) > groupLimit ||
    countAlike(
      ({ subject, region }) => JSON.stringify([subject, region]),
      (incident) => groupOf(rule, incident, groupBy),
    ) > groupLimit ||
    (isWithPool && new Set(others.map(subjectText)).size > groupLimit)
  );
}

function earlyMessages(
  { wallClocks }: Evidence,
  receiver: ScenarioReceiver,
  messages: readonly Grouped[],
): readonly Grouped[] {
  const { groupWaitMs, groupIntervalMs } = receiver;
  // A stepped wall clock makes no message wait for longer.
  if (groupIntervalMs <= groupWaitMs || wallClocks.length > 1) return [];
  const latest = new Map<string, number>();
  const inOrder = messages.toSorted((one, other) => one.createdUtcMs - other.createdUtcMs);
  return inOrder.filter((message) => {
    const { createdUtcMs, groups } = message;
    const distancesMs = Array.from(groups, (group) => {
      const before = latest.get(group) ?? -Infinity;
      latest.set(group, createdUtcMs);
      return createdUtcMs - before;
    });
    const isEarly = distancesMs.some((ms) => ms > 0 && ms < groupIntervalMs);
    // Merged groups are sent when the first of them is due.
    return isEarly && !mayBeMerged(message, receiver, messages);
  });
}
