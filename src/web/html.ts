import { printableLine } from "../lib/printable.ts";
import { ageText } from "./browser/age.ts";

/** Markup that may be sent as it is. */
export interface Html {
  readonly markup: string;
}

type Value = string | number | Html | readonly Html[];

/** Markup with values in it: a text is escaped, markup stays markup. */
export function html(parts: TemplateStringsArray, ...values: readonly Value[]): Html {
  return { markup: String.raw({ raw: parts }, ...values.map(markupOf)) };
}

function markupOf(value: Value): string {
  if (typeof value === "string") return escapeHtml(value);
  if (typeof value === "number") return String(value);
  return [value]
    .flat()
    .map(({ markup }) => markup)
    .join("");
}

const entities: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&#39;",
};

function escapeHtml(text: string): string {
  return printableLine(text).replaceAll(
    /[&<>"']/g,
    (character) => entities[character] ?? character,
  );
}

/** A time in UTC. Pages with `browser/times.ts` show it in the zone of the reader. */
export function timeOf(utcMs: number): Html {
  return html`<time datetime="${new Date(utcMs).toISOString()}">${timeText(utcMs)}</time>`;
}

/** A command, whose options are not divided at the end of a line. */
export function commandText(command: string): Html {
  const parts = command.split(/( --[\w-]+)/);
  return html`${parts.map((part, index) =>
    index % 2 === 0 ? html`${part}` : html` <span class="option">${part.trimStart()}</span>`,
  )}`;
}

/** How far a time is from now, as "12 min". */
export function ageOf(utcMs: number, nowMs: number): Html {
  const iso = new Date(utcMs).toISOString();
  return html`<time datetime="${iso}" title="${timeText(utcMs)}" data-age
    >${ageText(Math.abs(nowMs - utcMs))}</time
  >`;
}

/** A number, which pages with `browser/times.ts` show as the reader writes it. */
export function numberOf(value: number): Html {
  return html`<data value="${value}">${value.toLocaleString("en")}</data>`;
}

function timeText(utcMs: number): string {
  return new Date(utcMs)
    .toISOString()
    .replace("T", " ")
    .replace(/\.\d+Z$/, " UTC");
}

export interface Column<Row> {
  readonly head: string;
  readonly cell: (row: Row) => string | number | Html;
  /** Classes of the cell. */
  readonly tone?: (row: Row) => string;
  readonly isNumber?: boolean;
}

/** What is shown of something in a description list. Null: it has none. */
export type Fact = readonly [name: string, value: Html | string | null];

/** The rows of a description list. */
export function factRows(facts: readonly Fact[]): Html {
  return html`${facts.flatMap(([name, value]) =>
    value === null
      ? []
      : html`<dt>${name}</dt>
          <dd>${value}</dd> `,
  )}`;
}

/** A table. Rows past `most` are only counted. */
export function table<Row>(
  rows: readonly Row[],
  columns: readonly Column<Row>[],
  most = Number.POSITIVE_INFINITY,
): Html {
  const cell = (
    tag: string,
    { isNumber }: Column<Row>,
    value: string | number | Html,
    tone = "",
  ): Html => {
    const classes = `${isNumber ? "number" : ""} ${tone}`.trim();
    const attribute = classes === "" ? "" : ` class="${classes}"`;
    return { markup: `<${tag}${attribute}>${markupOf(value)}</${tag}>` };
  };
  return html`<table>
      <thead>
        <tr>
          ${columns.map((column) => cell("th", column, column.head))}
        </tr>
      </thead>
      <tbody>
        ${rows.slice(0, most).map(
          (row) =>
            html`<tr>
              ${columns.map((column) => cell("td", column, column.cell(row), column.tone?.(row)))}
            </tr> `,
        )}
      </tbody>
    </table>
    ${rows.length > most ? html`<p>and ${rows.length - most} more</p>` : ""}`;
}
