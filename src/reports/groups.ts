import type { Target } from "../fleet/model.ts";
import type { ReportField } from "./fields.ts";

export type GroupValues = Readonly<Partial<Record<ReportField, string>>>;

/** The servers that are told of in one row for a stretch of time. */
export interface Group {
  readonly values: GroupValues;
  /** The targets of these servers, by their numbers. */
  readonly targets: Set<number>;
}

/** The servers of one name of a target, or all of the target's. */
export interface Leaf {
  readonly group: Group;
}

/** Which group the servers of a target and name are in. */
export interface Groups {
  readonly byName: boolean;
  /** @param name any, where the report is not by name */
  leafOf(target: number, name: string): Leaf;
  leavesOf(target: number): Iterable<Leaf>;
  /** The name under which a target's buckets have a server. */
  aggregateName(target: number, serverName: string | null): string;
  /** In the order of the rows. */
  inOrder(): readonly Group[];
}

export function createGroups(
  targets: readonly Target[],
  reportFields: readonly ReportField[],
): Groups {
  const fields = reportFields.filter(
    (field) => field === "region" || field === "key" || field === "server_name",
  );
  const byName = fields.includes("server_name");
  const groups = new Map<string, Group>();
  const leaves = targets.map(() => new Map<string, Leaf>());
  let ordered: readonly Group[] | null = null;

  const groupOf = (target: number, name: string): Group => {
    const all = { region: targets[target]?.region, key: targets[target]?.key, server_name: name };
    const key = JSON.stringify(fields.map((field) => all[field]));
    let group = groups.get(key);
    if (!group) {
      const values = Object.fromEntries(fields.map((field) => [field, all[field] ?? ""]));
      group = { values, targets: new Set() };
      groups.set(key, group);
      ordered = null;
    }
    group.targets.add(target);
    return group;
  };
  const leafOf = (target: number, serverName: string): Leaf => {
    const name = byName ? serverName : "";
    const known = leaves[target];
    let leaf = known?.get(name);
    if (!leaf) {
      leaf = { group: groupOf(target, name) };
      known?.set(name, leaf);
    }
    return leaf;
  };
  // Where it is not by name, there is a row also of what nothing was kept of.
  if (!byName) for (const target of targets.keys()) leafOf(target, "");

  return {
    byName,
    leafOf,
    leavesOf: (target) => leaves[target]?.values() ?? [],
    aggregateName(target, serverName) {
      const name = serverName ?? "";
      const known = leaves[target];
      return known?.has(name) || !known?.has("other") ? name : "other";
    },
    inOrder() {
      ordered ??= [...groups.values()].toSorted((one, other) =>
        compareValues(one.values, other.values, fields),
      );
      return ordered;
    },
  };
}

/** As the rows of a report are ordered. */
export function compareValues(
  one: GroupValues,
  other: GroupValues,
  fields: readonly ReportField[],
): number {
  for (const field of fields) {
    const [a = "", b = ""] = [one[field], other[field]];
    if (a !== b) return a < b ? -1 : 1;
  }
  return 0;
}
