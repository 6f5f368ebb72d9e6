import { eachInSlices, runAtOnce, type Slices } from "../fleet/slices.ts";
import { groupFieldsOf, groupItems, groupValue, itemsPerSlice, subjectKey } from "./grouping.ts";
import type { Group, GroupingSettings, GroupTimes } from "./grouping.ts";
import { isSilenced } from "./notification.ts";
import type { GroupField, Notification, OutboxItem, StoredOutboxItem } from "./notification.ts";
import { summarize } from "./notification-summary.ts";
import { fillUrlTemplate } from "./template.ts";

export interface MessageSettings extends GroupingSettings {
  /** How many incidents one message names; the others are counted. */
  readonly maxIncidents: number;
}

/** A message whose id is still to be derived from its identity. */
export interface ComposedMessage {
  /** The contents as text: two messages have the same identity only if they have the same items. */
  readonly identity: string;
  readonly notification: Omit<Notification, "id">;
  /** Every item of the message, including those of incidents that it only counts. */
  readonly itemSeqs: readonly number[];
  readonly groupNames: readonly string[];
}

interface ComposedMessages {
  /** In the order in which they must be sent. */
  readonly messages: readonly ComposedMessage[];
  /** Of the waiting groups. UTC milliseconds; null: none waits. */
  readonly nextDueAtMs: number | null;
}

/**
 * Makes messages of the groups that have waited long enough. A message never mixes rule, severity or type, and the
 * changes of one subject are sent in their order: the last message has the latest state.
 *
 * @param items one receiver's open items, oldest first
 * @param nowMs UTC milliseconds, by the clock of the items
 * @param notifiedAtMs when the groups of earlier messages were last notified; old ones may be missing
 */
export function composeMessages(
  items: readonly StoredOutboxItem[],
  settings: MessageSettings,
  nowMs: number,
  notifiedAtMs: GroupTimes = new Map(),
): ComposedMessages {
  return runAtOnce(composeInSlices(items, settings, nowMs, notifiedAtMs));
}

export function* composeInSlices(
  items: readonly StoredOutboxItem[],
  settings: MessageSettings,
  nowMs: number,
  notifiedAtMs: GroupTimes,
): Slices<ComposedMessages> {
  const { due, waiting, nameOf } = yield* groupItems(items, settings, nowMs, notifiedAtMs);
  if (items.length > itemsPerSlice) yield;
  const messages: ComposedMessage[] = [];
  let composed = 0;
  const { messages: parts, outdated } = yield* itemsByMessage(due);
  for (const some of parts) {
    composed += some.length;
    if (composed > itemsPerSlice) {
      composed = 0;
      yield;
    }
    messages.push(yield* composeMessage(some, outdated, settings, nowMs, nameOf));
  }
  const nextMs = Math.min(...waiting.map(({ dueAtMs }) => dueAtMs));
  return { messages, nextDueAtMs: waiting.length === 0 ? null : nextMs };
}

/** Reminders that something later about their incident replaces, by its last item: their message takes them with it. */
type Outdated = ReadonlyMap<OutboxItem, readonly StoredOutboxItem[]>;

/**
 * One message for each type of a group, where the order of the changes of each subject allows it; a subject that fires
 * again after it was resolved needs a message after that of the resolve. A reminder that waited until there is something
 * later about its incident is not sent: that says how things are now.
 */
function* itemsByMessage(groups: readonly Group[]): Slices<{
  readonly messages: readonly (readonly StoredOutboxItem[])[];
  readonly outdated: Outdated;
}> {
  const messages: StoredOutboxItem[][] = [];
  const latestOfType = new Map<string, number>();
  const latestOfSubject = new Map<string, number>();
  const items = groups
    .flatMap((group, index) => group.items.map((item) => ({ item, index })))
    .toSorted((a, b) => a.item.seq - b.item.seq);
  const lasts = new Map(items.map(({ item }) => [item.incident.id, item]));
  const lastOf = (item: StoredOutboxItem): OutboxItem => lasts.get(item.incident.id) ?? item;
  const isOutdated = (item: StoredOutboxItem): boolean =>
    item.type === "incident.reminder" && lastOf(item) !== item;
  const outdated = Map.groupBy(
    items.flatMap(({ item }) => (isOutdated(item) ? [item] : [])),
    lastOf,
  );
  yield* eachInSlices(items, itemsPerSlice, ({ item, index }) => {
    if (isOutdated(item)) return;
    // What is silenced goes on: a message that also names what has recovered would not be clear.
    const type = `${index} ${item.type} ${isSilenced(item.incident)}`;
    const subject = subjectKey(item);
    const notBefore = latestOfSubject.get(subject) ?? 0;
    const latest = latestOfType.get(type);
    const position = latest !== undefined && latest >= notBefore ? latest : messages.length;
    (messages[position] ??= []).push(item);
    latestOfType.set(type, position);
    latestOfSubject.set(subject, position);
  });
  return { messages, outdated };
}

function* composeMessage(
  items: readonly StoredOutboxItem[],
  outdated: Outdated,
  { groupBy, maxIncidents }: MessageSettings,
  nowMs: number,
  nameOf: ReadonlyMap<OutboxItem, string>,
): Slices<ComposedMessage> {
  const [first] = items;
  if (!first) throw new RangeError("a message has at least one item");
  const { receiver, type, rule, severity, runbookUrlTemplate } = first;
  const isLong = items.length > itemsPerSlice;
  const latest = [...new Map(items.map((item) => [item.incident.id, item])).values()];
  const incidents = latest.slice(0, maxIncidents).map((item) => item.incident);
  const contents = items.map((item) => [item.incident.id, item.type, item.seq]);
  const identity = JSON.stringify([receiver, type, ...contents]);
  if (isLong) yield;
  const summary = summarize(latest, nowMs);
  const runbookUrl = runbookUrlTemplate && fillUrlTemplate(runbookUrlTemplate, latest);
  if (isLong) yield;
  const group = groupValues(items, groupFieldsOf(first, groupBy));
  const causedAtMs = items.reduce((least, item) => Math.min(least, item.causedAtMs), Infinity);
  const truncated = latest.length - incidents.length;
  const what = { receiver, type, rule, severity, group, summary, runbookUrl };
  return {
    identity,
    itemSeqs: items.flatMap((item) => [item, ...(outdated.get(item) ?? [])]).map(({ seq }) => seq),
    groupNames: [...new Set(items.flatMap((item) => nameOf.get(item) ?? []))],
    notification: { ...what, createdAtMs: nowMs, causedAtMs, incidents, truncated },
  };
}

/** What all items share of the fields that they were grouped by, except the rule: a notification names it anyway. */
function groupValues(
  items: readonly OutboxItem[],
  groupBy: readonly GroupField[],
): Readonly<Record<string, string>> {
  const shared = groupBy.flatMap((field) => {
    const [value = "", ...others] = new Set(items.map((item) => groupValue(item, field)));
    return field === "rule" || others.length > 0 ? [] : [[field, value] as const];
  });
  return Object.fromEntries(shared);
}
