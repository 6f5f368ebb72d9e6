import type { ReportField } from "./report-fields.ts";
import { compareValues, type GroupValues } from "./report-rows.ts";
import type { ReportedTarget } from "./reported-targets.ts";

/** The servers that are in one row for a stretch of time. */
export interface Group {
  readonly values: GroupValues;
  /** The targets of these servers, by their numbers. */
  readonly targets: Set<number>;
}

/** All servers of a target, or those of one name. */
export interface Leaf {
  readonly group: Group;
}

export type Groups = ReturnType<typeof createRowGroups>;

/** Which group the servers of a target and name are in. */
export function createRowGroups(
  targets: readonly ReportedTarget[],
  reportFields: readonly ReportField[],
) {
  const fields = reportFields.filter(
    (field) => field === "region" || field === "key" || field === "server_name",
  );
  const byName = fields.includes("server_name");
  const groups = new Map<string, Group>();
  const leaves = targets.map(() => new Map<string, Leaf>());
  let ordered: readonly Group[] | null = null;

  const groupOf = (number: number, name: string): Group => {
    const all = { ...targets[number]?.target, server_name: name };
    const values = Object.fromEntries(fields.map((field) => [field, all[field] ?? ""]));
    const key = JSON.stringify(values);
    let group = groups.get(key);
    if (!group) {
      groups.set(key, (group = { values, targets: new Set() }));
      ordered = null;
    }
    group.targets.add(number);
    return group;
  };
  /** @param serverName any, where the report is not by name */
  const leafOf = (number: number, serverName: string): Leaf => {
    const name = byName ? serverName : "";
    const known = leaves[number];
    let leaf = known?.get(name);
    if (!leaf) {
      leaf = { group: groupOf(number, name) };
      known?.set(name, leaf);
    }
    return leaf;
  };
  // A report that is not by name also has rows for targets without stored data.
  if (!byName) for (const number of targets.keys()) leafOf(number, "");

  return {
    byName,
    leafOf,
    leavesOf: (number: number): Iterable<Leaf> => leaves[number]?.values() ?? [],
    /** The leaf in which a target's buckets count a server; rare names share one. */
    leafOfServer(number: number, serverName: string | null): Leaf {
      const name = serverName ?? "";
      const known = leaves[number];
      return leafOf(number, known?.has(name) || !known?.has("other") ? name : "other");
    },
    /** In the order of the rows. */
    inOrder(): readonly Group[] {
      ordered ??= [...groups.values()].toSorted((one, other) =>
        compareValues(one.values, other.values, fields),
      );
      return ordered;
    },
  };
}
