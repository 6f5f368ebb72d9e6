import { eachInSlices } from "../fleet/slices.ts";
import type { Slices } from "../fleet/slices.ts";
import type { GroupField, OutboxItem, StoredOutboxItem } from "./notification.ts";
import type { NotifiedIncident, SubjectKind } from "./notification.ts";
import { valueOfIncident } from "./template.ts";

/** How one receiver wants its items grouped. */
export interface GroupingSettings {
  readonly groupBy: readonly GroupField[];
  /** How long the first item of a group waits for others. Milliseconds. */
  readonly groupWaitMs: number;
  /** The least time between two notifications of a group. Milliseconds. */
  readonly groupIntervalMs: number;
  /** More servers and targets than this at once, of one region or pool, make one group. */
  readonly mergeAbove: number;
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

export interface GroupedItems {
  readonly due: readonly Group[];
  readonly waiting: readonly Group[];
  readonly nameOf: ReadonlyMap<OutboxItem, string>;
}

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
): Slices<GroupedItems> {
  const groups = new Map<string, Group>();
  const nameOf = new Map<OutboxItem, string>();
  yield* eachInSlices(items, itemsPerSlice, (item) => {
    const name = groupName(item, settings);
    nameOf.set(item, name);
    const group = groups.get(name);
    if (group) group.items.push(item);
    else {
      const dueAtMs = dueTime(item.causedAtMs, notifiedAtMs.get(name), settings, nowMs);
      groups.set(name, { names: [name], items: [item], dueAtMs });
    }
  });
  const merged = mergeGroups([...groups.values()], settings.mergeAbove);
  if (items.length > itemsPerSlice) yield;
  return { ...splitByDue(merged, nowMs), nameOf };
}

function groupName(item: OutboxItem, { groupBy }: GroupingSettings): string {
  return JSON.stringify([item.rule, item.severity, ...groupBy.map((by) => groupValue(item, by))]);
}

export function groupValue({ rule, incident }: OutboxItem, field: GroupField): string {
  switch (field) {
    case "rule":
      return rule;
    case "incident":
      return incident.id;
    // Not the id where there is no name: servers without a name are one group.
    case "server_name":
      return incident.serverName ?? "";
    default:
      return valueOfIncident(field, incident);
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

/**
 * Very many servers, targets or probes of one region are one group for each rule, although `groupBy` would make many of
 * them; so are the servers of a pool that is notified at the same time. The group is due when the first of them is.
 *
 * @param mergeAbove no more subjects than this are not merged
 */
function mergeGroups(groups: readonly Group[], mergeAbove: number): readonly Group[] {
  const pools = groups
    .flatMap(({ items }) => items)
    .filter(({ type, incident }) => type === "incident.firing" && incident.subject === "pool");
  return pools.reduce(
    (merged, { incident: pool }) =>
      mergeAlike(merged, mergeAbove, (group) => poolScope(group, pool)),
    mergeAlike(groups, mergeAbove, regionScope),
  );
}

/** @param scopeOf what merged groups have in common; null: the group is not merged */
function mergeAlike(
  groups: readonly Group[],
  mergeAbove: number,
  scopeOf: (group: Group) => string | null,
): readonly Group[] {
  return [...Map.groupBy(groups, scopeOf)].flatMap(([scope, some]) => {
    if (scope === null || some.length === 1) return some;
    const subjects = new Set(some.flatMap(({ items }) => items.map(subjectKey)));
    if (subjects.size <= mergeAbove) return some;
    return [
      {
        names: some.flatMap(({ names }) => names),
        items: some.flatMap(({ items }) => items),
        dueAtMs: Math.min(...some.map(({ dueAtMs }) => dueAtMs)),
      },
    ];
  });
}

const inRegion: ReadonlySet<SubjectKind> = new Set(["server", "target", "probe"]);

function regionScope({ items }: Group): string | null {
  const [first] = items;
  if (!first) return null;
  const { subject, region } = first.incident;
  if (region === null || !inRegion.has(subject)) return null;
  if (items.some(({ incident }) => incident.region !== region)) return null;
  return JSON.stringify([first.rule, first.severity, region]);
}

/** Of a group of servers that all belong to the pool. */
function poolScope({ items }: Group, pool: NotifiedIncident): string | null {
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
  const { region, key, sandboxId, serverId, serverName, receiver, probe } = incident;
  switch (incident.subject) {
    case "server":
    case "target":
      return JSON.stringify([rule, region, key, sandboxId, serverId]);
    case "pool":
      return JSON.stringify([rule, "pool", region, key, serverName]);
    case "probe":
      return JSON.stringify([rule, "probe", probe, region, key]);
    case "receiver":
      return JSON.stringify([rule, "receiver", receiver]);
  }
}

function splitByDue(
  groups: readonly Group[],
  nowMs: number,
): { readonly due: readonly Group[]; readonly waiting: readonly Group[] } {
  const due = new Set(groups.filter(({ dueAtMs }) => dueAtMs <= nowMs));
  // Usually none waits, and very many items need not be compared.
  if (due.size === groups.length) return { due: groups, waiting: [] };
  const subjects = new Set<string>();
  const addSubjects = (group: Group): void =>
    group.items.forEach((item) => subjects.add(subjectKey(item)));
  due.forEach(addSubjects);
  // The changes of one subject can be in two groups, such as after a rule's severity was changed.
  // They go together, or the later change could be sent first.
  for (let grown = due.size > 0; grown;) {
    grown = false;
    for (const group of groups) {
      if (due.has(group) || !group.items.some((item) => subjects.has(subjectKey(item)))) continue;
      due.add(group);
      addSubjects(group);
      grown = true;
    }
  }
  return {
    due: groups.filter((group) => due.has(group)),
    waiting: groups.filter((group) => !due.has(group)),
  };
}
