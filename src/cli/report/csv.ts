import { measureNames } from "../../api/operations/occupancy.ts";
import { printable } from "../table.ts";
import type { Texts, StreamedReport } from "./streamed-report.ts";

/** As in RFC 4180. Null is an empty field. */
export async function* csvOf({ by, rows }: StreamedReport): Texts {
  const columns = [...by, ...measureNames];
  yield line(columns);
  for await (const row of rows) yield line(columns.map((column) => row[column] ?? null));
}

function line(values: readonly (string | number | boolean | null)[]): string {
  return `${values.map(field).join(",")}\r\n`;
}

/** What a spreadsheet takes for the start of a formula. */
const formula = /^[=+\-@\t\r\n＝＋－＠]/;

/** What would control a terminal. Line ends are part of the format. */
const control = /(?![\t\r\n])\p{Cc}/gu;

/** Names come from the service: a quote makes one that looks like a formula a text. */
function field(value: string | number | boolean | null): string {
  if (typeof value !== "string") return value === null ? "" : String(value);
  const shown = value.replaceAll(control, printable);
  const text = formula.test(shown) ? `'${shown}` : shown;
  return /[",\r\n']/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
