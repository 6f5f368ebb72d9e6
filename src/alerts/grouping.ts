import { eachInSlices, type Slices } from "../fleet/slices.ts";
import type { GroupField, NotifiedIncident } from "./notification.ts";
import type { OutboxItem, StoredOutboxItem } from "./notification.ts";
import { identityOf, kindOf, namedFacts } from "./subjects.ts";

export interface GroupingSettings {
  readonly groupBy: readonly GroupField[];
  /** How long the first item of a group waits for others. Milliseconds. */
  readonly groupWaitMs: number;
  /** The least time between two notifications of a group. Milliseconds. */
  readonly groupIntervalMs: number;
  /** More incidents than this at once that probably have one cause make one group. */
  readonly groupLimit: number;
}

/** Items of one receiver that go into the same notifications. */
export interface Group {
  readonly names: readonly string[];
  readonly items: StoredOutboxItem[];
  /** UTC milliseconds. */
  readonly dueAtMs: number;
}

/** When groups were last notified, by their names. UTC milliseconds. */
export type GroupTimes = ReadonlyMap<string, number>;

/** About this many items take a millisecond. */
export const itemsPerSlice = 256;

/**
 * Groups items, and separates the groups that have waited long enough.
 *
 * @param items one receiver's open items, oldest first
 * @param nowMs UTC milliseconds, by the clock of the items
 */
export function* groupItems(
  items: readonly StoredOutboxItem[],
  settings: GroupingSettings,
  nowMs: number,
  notifiedAtMs: GroupTimes,
): Slices<{
  readonly due: readonly Group[];
  readonly waiting: readonly Group[];
  readonly nameOf: ReadonlyMap<OutboxItem, string>;
}> {
  const groups = new Map<string, Group>();
  const nameOf = new Map<OutboxItem, string>();
  yield* eachInSlices(items, itemsPerSlice, (item) => {
    const values = groupFieldsOf(item, settings.groupBy).map((field) => groupValue(item, field));
    const name = JSON.stringify([item.rule, item.severity, ...values]);
    nameOf.set(item, name);
    const group = groups.get(name);
    if (group) group.items.push(item);
    else {
      const dueAtMs = dueTime(item.causedAtMs, notifiedAtMs.get(name), settings, nowMs);
      groups.set(name, { names: [name], items: [item], dueAtMs });
    }
  });
  const merged = mergeGroups([...groups.values()], settings.groupLimit);
  if (items.length > itemsPerSlice) yield;
  return { ...splitByDue(merged, nowMs), nameOf };
}

export function groupValue({ rule, incident }: OutboxItem, field: GroupField): string {
  switch (field) {
    case "rule":
      return rule;
    case "incident":
      return incident.id;
    default:
      return namedFacts(incident)[field] ?? "";
  }
}

/**
 * A group whose items were all caused at that time or later is not due before this. A time in the future means that the
 * wall clock was set back: waiting until it comes again could take hours. All in UTC milliseconds.
 */
export function earliestDueMs(causedAtMs: number, groupWaitMs: number, nowMs: number): number {
  return causedAtMs > nowMs ? nowMs : causedAtMs + groupWaitMs;
}

function dueTime(
  causedAtMs: number,
  notifiedAtMs: number | undefined,
  { groupWaitMs, groupIntervalMs }: GroupingSettings,
  nowMs: number,
): number {
  const earliestMs = earliestDueMs(causedAtMs, groupWaitMs, nowMs);
  const hasInterval = notifiedAtMs !== undefined && notifiedAtMs <= nowMs && causedAtMs <= nowMs;
  return hasInterval ? Math.max(earliestMs, notifiedAtMs + groupIntervalMs) : earliestMs;
}

/** Whether one cause usually reaches incidents that differ in a field. */
function isSpanned({ subject, trouble }: NotifiedIncident, field: GroupField): boolean {
  return kindOf(subject).spans?.(trouble) === field;
}

/** Those of a receiver's `group_by` that part an item from others. */
export function groupFieldsOf(
  { incident }: OutboxItem,
  groupBy: readonly GroupField[],
): readonly GroupField[] {
  return groupBy.filter((field) => !isSpanned(incident, field));
}

/** What incidents that probably have one cause have in common, besides their rule. */
export function causeScope({ incident }: Pick<OutboxItem, "incident">): readonly (string | null)[] {
  return (["region", "key"] as const).map((field) =>
    isSpanned(incident, field) ? null : incident[field],
  );
}

/**
 * Merges groups that probably have one cause, although `groupBy` parts them: more incidents than the limit of one region
 * and key, more groups than that of one region, more servers of a pool that is notified at the same time. A merged group
 * is due when the first of its groups is.
 */
function mergeGroups(groups: readonly Group[], limit: number): readonly Group[] {
  const subjects = (some: readonly Group[]): number =>
    new Set(some.flatMap(({ items }) => items.map(subjectKey))).size;
  const ofCauses = mergeAlike(groups, (group) => shared(group, causeScope), subjects, limit);
  const ofRegions = mergeAlike(
    ofCauses,
    (group) => shared(group, ({ incident }) => incident.region),
    ({ length }) => length,
    limit,
  );
  const pools = groups
    .flatMap(({ items }) => items)
    .filter(({ type, incident }) => type === "incident.firing" && incident.subject === "pool");
  return pools.reduce(
    (merged, { incident: pool }) =>
      mergeAlike(merged, (group) => inPool(group, pool), subjects, limit),
    ofRegions,
  );
}

/** @param scopeOf what merged groups have in common; null: the group is not merged */
function mergeAlike(
  groups: readonly Group[],
  scopeOf: (group: Group) => string | null,
  sizeOf: (groups: readonly Group[]) => number,
  limit: number,
): readonly Group[] {
  return [...Map.groupBy(groups, scopeOf)].flatMap(([scope, some]) => {
    if (scope === null || some.length === 1 || sizeOf(some) <= limit) return some;
    const items = some.flatMap((group) => group.items);
    const names = some.flatMap((group) => group.names);
    return [{ names, items, dueAtMs: Math.min(...some.map(({ dueAtMs }) => dueAtMs)) }];
  });
}

/** Null: the items of the group differ in it. */
function shared(
  { items }: Group,
  valueOf: (item: OutboxItem) => string | null | readonly (string | null)[],
): string | null {
  const [scope = null, ...others] = new Set(
    items.map((item) =>
      JSON.stringify([item.rule, item.severity, item.incident.subject, valueOf(item)]),
    ),
  );
  return others.length > 0 ? null : scope;
}

function inPool({ items }: Group, pool: NotifiedIncident): string | null {
  const [first] = items;
  const isOfPool = ({ incident }: StoredOutboxItem): boolean =>
    incident.subject === "server" &&
    (pool.region === null || incident.region === pool.region) &&
    (pool.key === null || incident.key === pool.key) &&
    (pool.serverName === null || incident.serverName === pool.serverName);
  return first && items.every(isOfPool) ? JSON.stringify([first.rule, first.severity]) : null;
}

/** A rule's condition on one subject: its notifications to a receiver must keep their order. */
export function subjectKey({ rule, incident }: OutboxItem): string {
  const { subject, region, key } = incident;
  return JSON.stringify([rule, subject, region, key, ...identityOf(subject, incident)]);
}

function splitByDue(groups: readonly Group[], nowMs: number) {
  const due = new Set(groups.filter(({ dueAtMs }) => dueAtMs <= nowMs));
  // Usually none waits, and very many items need not be compared.
  if (due.size === groups.length) return { due: groups, waiting: [] };
  const subjects = new Set<string>();
  const addSubjects = (group: Group): void =>
    group.items.forEach((item) => subjects.add(subjectKey(item)));
  due.forEach(addSubjects);
  // The changes of one subject can be in two groups, such as after a rule's severity was changed.
  // They go together, or the later change could be sent first.
  for (let size = 0; size < due.size;) {
    size = due.size;
    for (const group of groups) {
      if (due.has(group) || !group.items.some((item) => subjects.has(subjectKey(item)))) continue;
      due.add(group);
      addSubjects(group);
    }
  }
  return {
    due: groups.filter((group) => due.has(group)),
    waiting: groups.filter((group) => !due.has(group)),
  };
}
