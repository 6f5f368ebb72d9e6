import { nearestName } from "../config/nearest-name.ts";
import type { Counted } from "../fleet/buckets.ts";

/** What the rows of a report can be by. */
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
export type ReportField = (typeof reportFields)[number];

/** What reports are of. */
export const reportedKinds = ["servers", "sandboxes"] as const;
export type ReportedKind = (typeof reportedKinds)[number];

/** What servers can be pooled by, and sandboxes but for the name and the tag. */
export const poolFields = ["region", "key", "server_name", "benchmark", "tag"] as const;
export type PoolField = (typeof poolFields)[number];

export function isPoolField(field: ReportField): field is PoolField {
  return poolFields.some((each) => each === field);
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

/** Reads `region,hour`. @returns the fields, each once, or what is wrong */
export function readFields(
  text: string,
): { readonly fields: readonly ReportField[] } | { readonly allowed: string } {
  const words = text
    .split(",")
    .map((word) => word.trim().toLowerCase().replaceAll("-", "_"))
    .filter((word) => word !== "");
  const fields: ReportField[] = [];
  for (const word of words) {
    const field = reportFields.find((each) => each === word);
    if (!field) return { allowed: `${list}; ${word} is not one of them${meant(word)}` };
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

const list = `one or more, separated by commas, of ${reportFields.join(", ")}`;

function meant(word: string): string {
  const near = nearestName(word, reportFields);
  return near === null ? "" : `; did you mean ${near}?`;
}

/** A server is known only together with its sandbox, and both only within their target. */
export function withIdentity(fields: readonly ReportField[]): readonly ReportField[] {
  const identity: readonly ReportField[] = fields.includes("server")
    ? ["region", "key", "sandbox", "server", "server_name"]
    : ["region", "key", "sandbox"];
  const isSingle = fields.includes("server") || fields.includes("sandbox");
  return isSingle ? [...new Set([...identity, ...fields])] : fields;
}
