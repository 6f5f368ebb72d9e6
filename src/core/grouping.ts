import {
  type GroupField,
  type Notification,
  type OutboxItem,
  type StoredOutboxItem,
} from "./notification.ts";
import { draftMessages, subjectKey } from "./message-drafts.ts";
import { summarize } from "./notification-summary.ts";

/** How one receiver wants its messages. */
export interface GroupingSettings {
  readonly groupBy: readonly GroupField[];
  /** How long the first item of a group waits for others. Milliseconds. */
  readonly groupWaitMs: number;
  /** How many incidents one message names; the rest is counted. */
  readonly maxIncidents: number;
}

/** A message whose id is still to be derived from its identity. */
export interface ComposedMessage {
  /** What the message tells, as text: the same items always give the same, others never. */
  readonly identity: string;
  readonly notification: Omit<Notification, "id">;
  /** Every item the message tells, including those of incidents it only counts. */
  readonly itemSeqs: readonly number[];
}

export interface Grouping {
  /** In the order in which they must be told. */
  readonly messages: readonly ComposedMessage[];
  /** When the next of the groups left waiting is due. UTC milliseconds; null: none waits. */
  readonly nextDueAtMs: number | null;
}

interface Group {
  readonly items: StoredOutboxItem[];
  readonly oldestCausedAtMs: number;
}

/**
 * Makes messages of the groups that waited long enough. A message never mixes rule, severity or
 * type, and what happened to one subject is told in its order: the last word is the latest.
 *
 * @param items one receiver's open items, oldest first
 * @param nowMs UTC milliseconds, by the clock that stamped the items
 */
export function composeMessages(
  items: readonly StoredOutboxItem[],
  settings: GroupingSettings,
  nowMs: number,
): Grouping {
  const groups = groupItems(items, settings);
  const { due, waiting } = splitByDue(groups, settings, nowMs);
  return {
    messages: draftMessages(due.map((group) => group.items)).map((told) =>
      composeMessage(told, settings, nowMs),
    ),
    nextDueAtMs: waiting.reduce<number | null>(
      (next, group) => Math.min(next ?? Infinity, group.oldestCausedAtMs + settings.groupWaitMs),
      null,
    ),
  };
}

function groupItems(items: readonly StoredOutboxItem[], settings: GroupingSettings): Group[] {
  const groups = new Map<string, Group>();
  for (const item of items) {
    const values = settings.groupBy.map((field) => groupValue(item, field));
    const name = JSON.stringify([item.rule, item.severity, ...values]);
    const group = groups.get(name);
    if (group) group.items.push(item);
    else groups.set(name, { items: [item], oldestCausedAtMs: item.causedAtMs });
  }
  return [...groups.values()];
}

function splitByDue(
  groups: readonly Group[],
  { groupWaitMs }: GroupingSettings,
  nowMs: number,
): { readonly due: readonly Group[]; readonly waiting: readonly Group[] } {
  // A cause in the future means that the wall clock was stepped back: waiting for it to come round
  // again could take hours.
  const isDue = ({ oldestCausedAtMs }: Group): boolean =>
    oldestCausedAtMs > nowMs || oldestCausedAtMs + groupWaitMs <= nowMs;
  const due = new Set(groups.filter(isDue));
  const subjects = new Set<string>();
  const markSubjects = (group: Group): void =>
    group.items.forEach((item) => subjects.add(subjectKey(item)));
  due.forEach(markSubjects);
  // What happened to one subject can lie in two groups, say when a rule's severity was changed in
  // between. They go together, or the later step could be told first.
  for (let grown = due.size > 0; grown;) {
    grown = false;
    for (const group of groups) {
      if (due.has(group) || !group.items.some((item) => subjects.has(subjectKey(item)))) continue;
      due.add(group);
      markSubjects(group);
      grown = true;
    }
  }
  return {
    due: groups.filter((group) => due.has(group)),
    waiting: groups.filter((group) => !due.has(group)),
  };
}

function composeMessage(
  items: readonly StoredOutboxItem[],
  settings: GroupingSettings,
  nowMs: number,
): ComposedMessage {
  const [first] = items;
  if (!first) throw new RangeError("a message tells at least one item");
  const { type } = first;
  const latest = [...new Map(items.map((item) => [item.incident.id, item])).values()];
  const incidents = latest.slice(0, settings.maxIncidents).map((item) => item.incident);
  return {
    identity: JSON.stringify([
      first.receiver,
      type,
      ...items.map((item) => [item.incident.id, item.type, item.seq]),
    ]),
    itemSeqs: items.map((item) => item.seq),
    notification: {
      receiver: first.receiver,
      type,
      rule: first.rule,
      severity: first.severity,
      group: groupValues(first, settings.groupBy),
      summary: summarize(latest),
      createdAtMs: nowMs,
      causedAtMs: items.reduce((least, item) => Math.min(least, item.causedAtMs), Infinity),
      incidents,
      truncated: latest.length - incidents.length,
    },
  };
}

/** The rule is left out: a notification names it anyway. */
function groupValues(
  item: OutboxItem,
  groupBy: readonly GroupField[],
): Readonly<Record<string, string>> {
  return Object.fromEntries(
    groupBy.filter((field) => field !== "rule").map((field) => [field, groupValue(item, field)]),
  );
}

function groupValue({ rule, incident }: OutboxItem, field: GroupField): string {
  switch (field) {
    case "rule":
      return rule;
    case "region":
      return incident.region;
    case "key":
      return incident.key;
    case "sandbox_id":
      return incident.sandboxId ?? "";
    case "server_name":
      return incident.serverName ?? "";
  }
}
