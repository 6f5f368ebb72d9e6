import { nearestName } from "../config/nearest-name.ts";
import type { Counted } from "../fleet/buckets.ts";

/** What the rows of a report can be by, besides the labels of keys. */
export const reportFields = [
  "region",
  "key",
  "server_name",
  "benchmark",
  "tag",
  "sandbox",
  "server",
  "hour",
  "day",
  "week",
  "month",
  "weekday",
  "hour_of_day",
] as const;
export type KnownField = (typeof reportFields)[number];

/** The name of a label of keys, such as `team`: labels have no names of other fields. */
export type LabelName = string & { readonly isLabel?: never };
export type ReportField = KnownField | LabelName;

export function isLabel(field: string): field is LabelName {
  return !reportFields.some((each) => each === field);
}

/** The values of the labels among some fields. What has none is not in the rows of what has one. */
export function labelValuesOf(
  fields: readonly ReportField[],
  labels: Readonly<Record<string, string>>,
): Readonly<Record<string, string>> {
  return Object.fromEntries(
    fields.filter(isLabel).map((label) => [label, labels[label] ?? `no ${label}`]),
  );
}

/** What reports are of. */
export const reportedKinds = ["servers", "sandboxes"] as const;
export type ReportedKind = (typeof reportedKinds)[number];

/** What servers can be pooled by, and sandboxes but for the name and the tag. */
export const poolFields = ["region", "key", "server_name", "benchmark", "tag"] as const;
export type PoolField = (typeof poolFields)[number] | LabelName;

export function isPoolField(field: ReportField): field is PoolField {
  return isLabel(field) || poolFields.some((each) => each === field);
}

/** The attributes by which servers and sandboxes are counted. */
const valueFields = ["server_name", "benchmark", "tag"] as const;
export type ValueField = (typeof valueFields)[number];

export function valueFieldOf(fields: readonly ReportField[]): ValueField | null {
  return valueFields.find((field) => fields.includes(field)) ?? null;
}

/** What is counted for a report by some fields. */
export function countedFor(of: ReportedKind, fields: readonly ReportField[]): Counted {
  const field = valueFieldOf(fields);
  if (of === "servers") return field ?? "server";
  return field === null ? "sandbox" : "sandbox_benchmark";
}

const timeFields = ["hour", "day", "week", "month", "weekday", "hour_of_day"] as const;
export type TimeField = (typeof timeFields)[number];

export function isTimeField(field: ReportField): field is TimeField {
  return timeFields.some((each) => each === field);
}

/** Reads `region,hour`. Other words are taken for labels. @returns the fields, each once, or what is wrong */
export function readFields(
  text: string,
): { readonly fields: readonly ReportField[] } | { readonly allowed: string } {
  const words = text
    .split(",")
    .map((word) => word.trim())
    .filter((word) => word !== "");
  const fields: ReportField[] = [];
  for (const word of words) {
    const plain = word.toLowerCase().replaceAll("-", "_");
    const field = isLabel(plain) ? word : plain;
    if (!/^[a-z]\w*$/i.test(field)) return { allowed: `${list}; ${field} is neither` };
    if (!fields.includes(field)) fields.push(field);
  }
  const single = fields.find((field) => field === "server" || field === "sandbox");
  const isApart = (field: ReportField): boolean =>
    isTimeField(field) || field === "benchmark" || field === "tag";
  const other = fields.find(isApart);
  if (single && other) return { allowed: `either ${single} or ${other}, not both` };
  const [value, otherValue] = valueFields.filter((field) => fields.includes(field));
  if (value && otherValue) return { allowed: `either ${value} or ${otherValue}, not both` };
  return { fields: withIdentity(fields) };
}

/** What is wrong with fields that only servers have. Null: nothing. */
export function faultOfSandboxFields(fields: readonly ReportField[]): string | null {
  const field = fields.find((each) => ["server_name", "tag", "server"].includes(each));
  return field === undefined
    ? null
    : `of sandboxes: one or more of region, key, sandbox, benchmark and ${timeFields.join(", ")}; not ${field}`;
}

const list = `one or more, separated by commas, of ${reportFields.join(", ")} and labels of keys`;

/** What is allowed instead of a word. @param labels those that keys have */
export function unknownField(word: string, labels: readonly string[]): string {
  const near = nearestName(word, [...reportFields, ...labels]);
  const known = labels.join(", ") || "none";
  const meant = near === null ? "" : `; did you mean ${near}?`;
  return `${list}: ${known}; ${word} is not one of them${meant}`;
}

/** A server is known only together with its sandbox, and both only within their target. */
export function withIdentity(fields: readonly ReportField[]): readonly ReportField[] {
  const identity: readonly ReportField[] = fields.includes("server")
    ? ["region", "key", "sandbox", "server", "server_name"]
    : ["region", "key", "sandbox"];
  const isSingle = fields.includes("server") || fields.includes("sandbox");
  return isSingle ? [...new Set([...identity, ...fields])] : fields;
}
