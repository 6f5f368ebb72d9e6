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

type Content = string | number | Html;

export interface Column<Row> {
  readonly head: string | Html;
  readonly headAttributes?: Html;
  readonly cell: (row: Row) => Content;
  /** Classes of the cell. */
  readonly tone?: string | ((row: Row) => string);
  readonly isNumber?: boolean;
  /** Whether narrow screens go without it. */
  readonly isWide?: boolean;
  /** Whether it says what the row is about. */
  readonly isHead?: boolean;
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

interface TableOptions {
  /** Rows past it are only counted. */
  readonly most?: number;
  readonly attributes?: Html;
  /** Read aloud only. */
  readonly caption?: string;
  /** @param index 0: of the row of heads */
  readonly rowAttributes?: (index: number) => Html;
}

export function table<Row>(
  rows: readonly Row[],
  columns: readonly Column<Row>[],
  { most = Infinity, attributes, caption = "", rowAttributes }: TableOptions = {},
): Html {
  const heads = columns.map((column) =>
    cellOf("th", column, column.head, "", html`scope="col"${spaced(column.headAttributes)}`),
  );
  const cells = (row: Row): readonly Html[] =>
    columns.map((column) => {
      const { cell, tone = "", isHead } = column;
      const classes = typeof tone === "string" ? tone : tone(row);
      return isHead
        ? cellOf("th", column, cell(row), classes, html`scope="row"`)
        : cellOf("td", column, cell(row), classes);
    });
  return html`<table${spaced(attributes)}>
      ${
        caption === ""
          ? ""
          : html`<caption class="hidden">
              ${caption}
            </caption>`
      }
      <thead>
        <tr${spaced(rowAttributes?.(0))}>
          ${heads}
        </tr>
      </thead>
      <tbody>
        ${rows.slice(0, most).map(
          (row, index) =>
            html`<tr${spaced(rowAttributes?.(index + 1))}>
              ${cells(row)}
            </tr> `,
        )}
      </tbody>
    </table>
    ${rows.length > most ? html`<p>and ${rows.length - most} more</p>` : ""}`;
}

function spaced(attributes: Html | undefined): Html {
  return attributes === undefined ? html`` : html` ${attributes}`;
}

function cellOf(
  tag: "th" | "td",
  { isNumber, isWide }: Pick<Column<never>, "isNumber" | "isWide">,
  content: Content,
  tone: string,
  attributes?: Html,
): Html {
  const classes = [isWide && "wide", isNumber && "number", tone].filter(Boolean).join(" ");
  const named = classes === "" ? "" : ` class="${classes}"`;
  return { markup: `<${tag}${named}${spaced(attributes).markup}>${markupOf(content)}</${tag}>` };
}
