import {
  type GroupField,
  type Notification,
  type OutboxItem,
  type StoredOutboxItem,
} from "./notification.ts";
import { eachInSlices, runAtOnce } from "../fleet/slices.ts";
import type { Slices } from "../fleet/slices.ts";
import { mergeGroups } from "./group-merging.ts";
import type { Group } from "./group-merging.ts";
import { draftMessages, subjectKey } from "./message-drafts.ts";
import { summarize } from "./notification-summary.ts";
import { fillUrlTemplate, valueOfIncident } from "./template.ts";

/** How one receiver wants its messages. */
export interface GroupingSettings {
  readonly groupBy: readonly GroupField[];
  /** How long the first item of a group waits for others. Milliseconds. */
  readonly groupWaitMs: number;
  /** How long after a message of a group its next one comes at the earliest. Milliseconds. */
  readonly groupIntervalMs: number;
  /** More servers and targets than this at once, of one region or pool, make one group. */
  readonly mergeAbove: number;
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
  /** The names of the groups that it tells of. */
  readonly groupNames: readonly string[];
}

export interface Grouping {
  /** In the order in which they must be told. */
  readonly messages: readonly ComposedMessage[];
  /** When the next of the groups left waiting is due. UTC milliseconds; null: none waits. */
  readonly nextDueAtMs: number | null;
}

/** When groups were last told of, by their names. UTC milliseconds. */
export type GroupTimes = ReadonlyMap<string, number>;

/**
 * Makes messages of the groups that waited long enough. A message never mixes rule, severity or
 * type, and what happened to one subject is told in its order: the last word is the latest.
 *
 * @param items one receiver's open items, oldest first
 * @param nowMs UTC milliseconds, by the clock that stamped the items
 * @param toldAtMs when the groups of earlier messages were last told of; older ones may be left out
 */
export function composeMessages(
  items: readonly StoredOutboxItem[],
  settings: GroupingSettings,
  nowMs: number,
  toldAtMs: GroupTimes = new Map(),
): Grouping {
  return runAtOnce(composeInSlices(items, settings, nowMs, toldAtMs));
}

/** The same in slices. */
export function* composeInSlices(
  items: readonly StoredOutboxItem[],
  settings: GroupingSettings,
  nowMs: number,
  toldAtMs: GroupTimes,
): Slices<Grouping> {
  const { groups: single, nameOf } = yield* groupItems(items, settings, nowMs, toldAtMs);
  const groups = mergeGroups(single, settings.mergeAbove);
  if (items.length > composedAtOnce) yield;
  const { due, waiting } = splitByDue(groups, nowMs);
  if (items.length > composedAtOnce) yield;
  const drafts = yield* draftMessages(due.map((group) => group.items));
  const messages: ComposedMessage[] = [];
  let composed = 0;
  for (const told of drafts) {
    if (composed > composedAtOnce) {
      composed = 0;
      yield;
    }
    composed += told.length;
    messages.push(yield* composeMessage(told, settings, nowMs, nameOf));
  }
  return {
    messages,
    nextDueAtMs: waiting.reduce<number | null>(
      (next, { dueAtMs }) => Math.min(next ?? Infinity, dueAtMs),
      null,
    ),
  };
}

/** As many items take about a millisecond. */
const composedAtOnce = 256;

interface GroupedItems {
  readonly groups: readonly Group[];
  readonly nameOf: ReadonlyMap<OutboxItem, string>;
}

function* groupItems(
  items: readonly StoredOutboxItem[],
  settings: GroupingSettings,
  nowMs: number,
  toldAtMs: GroupTimes,
): Slices<GroupedItems> {
  const groups = new Map<string, Group>();
  const nameOf = new Map<OutboxItem, string>();
  yield* eachInSlices(items, composedAtOnce, (item) => {
    const name = groupName(item, settings);
    nameOf.set(item, name);
    const group = groups.get(name);
    if (group) group.items.push(item);
    else {
      const dueAtMs = dueTime(item.causedAtMs, toldAtMs.get(name), settings, nowMs);
      groups.set(name, { names: [name], items: [item], dueAtMs });
    }
  });
  return { groups: [...groups.values()], nameOf };
}

function groupName(item: OutboxItem, { groupBy }: GroupingSettings): string {
  return JSON.stringify([item.rule, item.severity, ...groupBy.map((by) => groupValue(item, by))]);
}

/**
 * Before that a group is not due of which nothing was caused before. A time in the future means that the wall clock
 * was stepped back: waiting for it to come round again could take hours. All in UTC milliseconds.
 */
export function earliestDueMs(causedAtMs: number, groupWaitMs: number, nowMs: number): number {
  return causedAtMs > nowMs ? nowMs : causedAtMs + groupWaitMs;
}

function dueTime(
  causedAtMs: number,
  toldAtMs: number | undefined,
  { groupWaitMs, groupIntervalMs }: GroupingSettings,
  nowMs: number,
): number {
  const earliestMs = earliestDueMs(causedAtMs, groupWaitMs, nowMs);
  const isTold = toldAtMs !== undefined && toldAtMs <= nowMs && causedAtMs <= nowMs;
  return isTold ? Math.max(earliestMs, toldAtMs + groupIntervalMs) : earliestMs;
}

function splitByDue(
  groups: readonly Group[],
  nowMs: number,
): { readonly due: readonly Group[]; readonly waiting: readonly Group[] } {
  const due = new Set(groups.filter(({ dueAtMs }) => dueAtMs <= nowMs));
  // Mostly none waits, and very many items need not be told apart.
  if (due.size === groups.length) return { due: groups, waiting: [] };
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

function* composeMessage(
  items: readonly StoredOutboxItem[],
  settings: GroupingSettings,
  nowMs: number,
  nameOf: ReadonlyMap<OutboxItem, string>,
): Slices<ComposedMessage> {
  const [first] = items;
  if (!first) throw new RangeError("a message tells at least one item");
  const { type } = first;
  const isLong = items.length > composedAtOnce;
  const latest = [...new Map(items.map((item) => [item.incident.id, item])).values()];
  const incidents = latest.slice(0, settings.maxIncidents).map((item) => item.incident);
  if (isLong) yield;
  const identity = JSON.stringify([
    first.receiver,
    type,
    ...items.map((item) => [item.incident.id, item.type, item.seq]),
  ]);
  if (isLong) yield;
  const summary = summarize(latest);
  if (isLong) yield;
  const group = groupValues(items, settings.groupBy);
  if (isLong) yield;
  return {
    identity,
    itemSeqs: items.map((item) => item.seq),
    groupNames: [...new Set(items.flatMap((item) => nameOf.get(item) ?? []))],
    notification: {
      receiver: first.receiver,
      type,
      rule: first.rule,
      severity: first.severity,
      group,
      summary,
      runbookUrl:
        first.runbookUrlTemplate === null
          ? null
          : fillUrlTemplate(first.runbookUrlTemplate, latest),
      createdAtMs: nowMs,
      causedAtMs: items.reduce((least, item) => Math.min(least, item.causedAtMs), Infinity),
      incidents,
      truncated: latest.length - incidents.length,
    },
  };
}

/**
 * What all items share of the fields that they were grouped by. The rule is left out: a notification
 * names it anyway.
 */
function groupValues(
  items: readonly OutboxItem[],
  groupBy: readonly GroupField[],
): Readonly<Record<string, string>> {
  return Object.fromEntries(
    groupBy
      .filter((field) => field !== "rule")
      .flatMap((field) => {
        const [value = "", ...others] = new Set(items.map((item) => groupValue(item, field)));
        return others.length === 0 ? [[field, value]] : [];
      }),
  );
}

function groupValue({ rule, incident }: OutboxItem, field: GroupField): string {
  switch (field) {
    case "rule":
      return rule;
    case "incident":
      return incident.id;
    // Not the id where there is none: servers without a name are one group.
    case "server_name":
      return incident.serverName ?? "";
    default:
      return valueOfIncident(field, incident);
  }
}
