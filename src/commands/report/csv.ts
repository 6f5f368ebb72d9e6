import { measureNames } from "../../api/operations/occupancy.ts";
import { printable } from "../table.ts";
import type { Texts, StreamedReport } from "./streamed-report.ts";

/** As RFC 4180 has it. What there is not is an empty field. */
export async function* csvOf({ by, rows }: StreamedReport): Texts {
  const columns = [...by, ...measureNames];
  yield line(columns);
  for await (const row of rows) yield line(columns.map((column) => row[column] ?? null));
}

function line(values: readonly (string | number | boolean | null)[]): string {
  return `${values.map(field).join(",")}\r\n`;
}

/** What a spreadsheet would take for the beginning of a formula. */
const formula = /^[=+\-@\t\r\n＝＋－＠]/;

/** What would command a terminal. A line end is a part of the format. */
const control = /(?![\t\r\n])\p{Cc}/gu;

/** Names come from the service: one that a spreadsheet would compute is made a text by a quote. */
function field(value: string | number | boolean | null): string {
  if (typeof value !== "string") return value === null ? "" : String(value);
  const shown = value.replaceAll(control, printable);
  const text = formula.test(shown) ? `'${shown}` : shown;
  return /[",\r\n']/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
