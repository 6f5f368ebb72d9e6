import type { ScenarioReceiver } from "../draw/receivers.ts";
import type { Attempt } from "../history.ts";
import { subjectOf, violation } from "./evidence.ts";
import type { Evidence, MessageIncident, Violation } from "./evidence.ts";

/** A message with the groups that it is about. */
interface Grouped {
  readonly webhookId: string;
  readonly rule: string;
  readonly createdUtcMs: number;
  readonly groups: ReadonlySet<string>;
  readonly subjects: readonly string[];
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
  const groupOf = ({ region, key, sandbox_id, server_name }: MessageIncident): string => {
    const fields = new Map(Object.entries({ rule, region, key, sandbox_id, server_name }));
    return [rule, ...groupBy.map((field) => fields.get(field) ?? "")].join(" ");
  };
  return {
    webhookId,
    rule,
    createdUtcMs: Date.parse(message.timestamp),
    groups: new Set(incidents.map(groupOf)),
    subjects: incidents.map((incident) => JSON.stringify(subjectOf(incident))),
  };
}

/** Messages that were created together may have been merged, if they have more subjects than the limit. */
function mayBeMerged(
  { rule, createdUtcMs }: Grouped,
  { mergeAbove }: ScenarioReceiver,
  messages: readonly Grouped[],
): boolean {
  const together = messages.filter(
    (each) => each.createdUtcMs === createdUtcMs && each.rule === rule,
  );
  return new Set(together.flatMap(({ subjects }) => subjects)).size > mergeAbove;
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
