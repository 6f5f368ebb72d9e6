import { isTimeField, labelValuesOf, valueFieldOf } from "./report-fields.ts";
import type { ReportField, ValueField } from "./report-fields.ts";
import { compareValues, type GroupValues } from "./report-rows.ts";
import type { ReportedTarget } from "./reported-targets.ts";
import type { LabelsOf } from "./report-sources.ts";

/** The servers or sandboxes that are in one row for a stretch of time. */
export interface Group {
  readonly key: string;
  readonly values: GroupValues;
  /** The targets of these servers, by their numbers. */
  readonly targets: Set<number>;
}

/** All servers or sandboxes of a target, or those of one value. */
export interface Leaf {
  readonly group: Group;
}

export type Groups = ReturnType<typeof createRowGroups>;

/** Which group the servers or sandboxes of a target and value are in. */
export function createRowGroups(
  targets: readonly ReportedTarget[],
  reportFields: readonly ReportField[],
  labelsOf: LabelsOf,
) {
  const fields = reportFields.filter((field) => !isTimeField(field));
  const valueField = valueFieldOf(fields);
  const byValue = valueField !== null;
  const groups = new Map<string, Group>();
  const leaves = targets.map(() => new Map<string, Leaf>());
  let ordered: readonly Group[] | null = null;

  const groupOf = (number: number, value: string): Group => {
    const own = valueField === null ? {} : { [valueField]: value };
    const target = targets[number]?.target;
    const labels = labelValuesOf(fields, labelsOf(target?.key ?? null));
    const all: GroupValues = { ...target, ...own, ...labels };
    const values = Object.fromEntries(fields.map((field) => [field, all[field] ?? ""]));
    const key = JSON.stringify(values);
    let group = groups.get(key);
    if (!group) {
      groups.set(key, (group = { key, values, targets: new Set() }));
      ordered = null;
    }
    group.targets.add(number);
    return group;
  };
  /** @param value any, where the report is not by one */
  const leafOf = (number: number, value: string): Leaf => {
    const own = byValue ? value : "";
    const known = leaves[number];
    let leaf = known?.get(own);
    if (!leaf) {
      leaf = { group: groupOf(number, own) };
      known?.set(own, leaf);
    }
    return leaf;
  };
  // A report that is not by value also has rows for targets without stored data.
  if (!byValue) for (const number of targets.keys()) leafOf(number, "");

  return {
    byValue,
    leafOf,
    leavesOf: (number: number): Iterable<Leaf> => leaves[number]?.values() ?? [],
    /** The groups that a server or sandbox with these attributes is in: one with several tags is in several. */
    groupsOf({ target, serverName, benchmark, tags }: Attributes): Iterable<Group> {
      const valuesOf: Readonly<Record<ValueField, readonly string[]>> = {
        server_name: [serverName ?? ""],
        benchmark: [benchmark ?? ""],
        tag: tags.length === 0 ? [""] : tags,
      };
      const values = valueField === null ? [""] : valuesOf[valueField];
      return new Set(values.map((value) => leafOf(target, value).group));
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

interface Attributes {
  /** The number of its target. */
  readonly target: number;
  readonly serverName: string | null;
  readonly benchmark: string | null;
  readonly tags: readonly string[];
}
