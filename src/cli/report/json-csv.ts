import { measureNames } from "../../api/operations/occupancy.ts";
import type { OccupancyView, RowView } from "../../api/operations/occupancy.ts";
import { printableJson } from "../../lib/printable.ts";

/** A report whose rows are read one after the other, however many there are. */
export interface StreamedReport extends Omit<OccupancyView, "rows" | "next"> {
  readonly rows: AsyncIterable<RowView>;
  /** Further notes, after the rows were read. */
  readonly coverageNotes: () => Promise<readonly string[]>;
}

/** Texts to be written one after the other. */
export type Texts = AsyncIterable<string>;

/** One object with all rows, each on a line, otherwise as the API responds. */
export async function* jsonOf({ rows, notes, coverageNotes, ...head }: StreamedReport): Texts {
  const opening = JSON.stringify(head, null, 2).replace(/\n\}$/, "");
  yield printableJson(`${opening},\n  "rows": [`);
  let separator = "\n    ";
  for await (const row of rows) {
    yield printableJson(`${separator}${JSON.stringify(row)}`);
    separator = ",\n    ";
  }
  yield separator.startsWith(",") ? "\n  ]" : "]";
  const all = JSON.stringify([...notes, ...(await coverageNotes())]);
  yield printableJson(`,\n  "notes": ${all}\n}\n`);
}

/** As in RFC 4180. Null is an empty field. */
export async function* csvOf({ by, rows }: StreamedReport): Texts {
  const columns = [...by, ...measureNames];
  yield line(columns);
  for await (const row of rows) yield line(columns.map((column) => valueOf(row[column])));
}

function valueOf(value: unknown): string | number | boolean | null {
  return typeof value === "string" || typeof value === "number" || typeof value === "boolean"
    ? value
    : null;
}

/** A table of objects, as in RFC 4180. Null, or a field that is not there, is empty. */
export function csvTable<Column extends string>(
  rows: readonly Readonly<Partial<Record<Column, unknown>>>[],
  columns: readonly Column[],
): string {
  return [columns, ...rows.map((row) => columns.map((column) => valueOf(row[column])))]
    .map(line)
    .join("");
}

function line(values: readonly (string | number | boolean | null)[]): string {
  return `${values.map(field).join(",")}\r\n`;
}

/**
 * Where a cell could begin that a spreadsheet computes: also behind what separates cells in another locale, where the
 * quotes around the field mean nothing.
 */
const formulaStart = /(^|\r\n|[;|\t\r\n])(?=[\p{C}\p{Z}"]*[=+\-@＝＋－＠])|^(?=[\t\r\n])/gu;

/** Names come from the service: a quote makes what looks like a formula a text. */
function field(value: string | number | boolean | null): string {
  if (typeof value !== "string") return value === null ? "" : String(value);
  const text = value.replaceAll(formulaStart, "$1'");
  return /[",;|\t\r\n']/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
