import { subjectKey } from "./message-drafts.ts";
import type { StoredOutboxItem, SubjectKind, ToldIncident } from "./notification.ts";

/** Items of one receiver that go into the same messages. */
export interface Group {
  readonly names: readonly string[];
  readonly items: StoredOutboxItem[];
  /** UTC milliseconds. */
  readonly dueAtMs: number;
}

/**
 * What befalls a whole region is one group for each rule, though `groupBy` would make many of it; so
 * is what befalls the servers of a pool that is told of at the same time. It is told when the first
 * of them is due.
 *
 * @param mergeAbove with no more subjects than this they stay apart
 */
export function mergeGroups(groups: readonly Group[], mergeAbove: number): readonly Group[] {
  const pools = groups
    .flatMap(({ items }) => items)
    .filter(({ type, incident }) => type === "incident.firing" && incident.subject === "pool");
  return pools.reduce(
    (merged, { incident: pool }) =>
      mergeAlike(merged, mergeAbove, (group) => poolScope(group, pool)),
    mergeAlike(groups, mergeAbove, regionScope),
  );
}

/** @param scopeOf what groups must share to be merged; null: it is not merged */
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

/** Of servers that are all of the pool. */
function poolScope({ items }: Group, pool: ToldIncident): string | null {
  const [first] = items;
  const isOfPool = ({ incident }: StoredOutboxItem): boolean =>
    incident.subject === "server" &&
    (pool.region === null || incident.region === pool.region) &&
    (pool.key === null || incident.key === pool.key) &&
    (pool.serverName === null || incident.serverName === pool.serverName);
  return first && items.every(isOfPool) ? JSON.stringify([first.rule, first.severity]) : null;
}
