import { html, joinHtml } from "./html.ts";
import type { Html } from "./html.ts";

/** The head of a column; one of numbers stands at its right. */
export type Head = string | { readonly number: string };

export function table(heads: readonly Head[], rows: readonly Html[]): Html {
  const cells = heads.map((head) =>
    typeof head === "string"
      ? html`<th>${head}</th>`
      : html`<th class="number">${head.number}</th>`,
  );
  return html`<table>
    <thead>
      <tr>
        ${joinHtml(cells)}
      </tr>
    </thead>
    <tbody>
      ${joinHtml(rows)}
    </tbody>
  </table> `;
}

/** How many are not shown. */
export function moreThan(shown: readonly unknown[], all: readonly unknown[]): Html {
  const more = all.length - shown.length;
  return more > 0 ? html`<p>and ${String(more)} more</p>` : html``;
}

/** For a person. */
export function time(utcMs: number): string {
  return new Date(utcMs)
    .toISOString()
    .replace("T", " ")
    .replace(/\.\d+Z$/, " UTC");
}
