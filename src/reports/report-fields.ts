import { nearestName } from "../config/nearest-name.ts";

/** What the rows of a report can be by. */
export const reportFields = [
  "region",
  "key",
  "server_name",
  "sandbox",
  "server",
  "hour",
  "day",
  "weekday",
] as const;
export type ReportField = (typeof reportFields)[number];

/** What servers can be pooled by. */
export const poolFields = ["region", "key", "server_name"] as const;
export type PoolField = (typeof poolFields)[number];

export function isPoolField(field: ReportField): field is PoolField {
  return poolFields.some((each) => each === field);
}

/** In the order of their length: of two the shorter one says when a row ends. */
const timeFields = ["hour", "day", "weekday"] as const;
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
  const time = fields.find(isTimeField);
  if (single && time) {
    return { allowed: `either ${single} or ${time}, not both` };
  }
  return { fields: single ? withIdentity(fields) : fields };
}

const list = `one or more, separated by commas, of ${reportFields.join(", ")}`;

function meant(word: string): string {
  const near = nearestName(word, reportFields);
  return near === null ? "" : `; did you mean ${near}?`;
}

/** A server is known only together with its sandbox, and both only within their target. */
function withIdentity(fields: readonly ReportField[]): readonly ReportField[] {
  const identity: readonly ReportField[] = fields.includes("server")
    ? ["region", "key", "sandbox", "server", "server_name"]
    : ["region", "key", "sandbox"];
  return [...new Set([...identity, ...fields])];
}
