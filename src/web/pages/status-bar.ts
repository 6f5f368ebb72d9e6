import { shownStatuses, type ShownStatus } from "../../fleet/fleet-search.ts";
import { html, type Html } from "../html.ts";
import { countAll, type Totals } from "./fleet-totals.ts";

/** The pattern of unobserved time and servers. Once on a page that draws any. */
export const hatch = html`<svg class="hatch" width="0" height="0" aria-hidden="true">
  <pattern
    id="unobserved"
    width="7"
    height="7"
    patternTransform="rotate(45)"
    patternUnits="userSpaceOnUse"
  >
    <rect width="7" height="7" class="gap" />
    <rect width="3" height="7" class="unobserved" />
  </pattern>
</svg>`;

export function fillOf(status: ShownStatus): Html {
  return status === "unobserved" ? html`fill="url(#unobserved)"` : html`class="${status}"`;
}

/** A square in the colour of a status. */
export function swatch(status: ShownStatus): Html {
  return html`<svg class="swatch" width="11" height="11" aria-hidden="true">
    <rect width="11" height="11" rx="3" ${fillOf(status)} />
  </svg>`;
}

/** Such as "61 occupied, 27 idle, 2 error". */
export function totalsText(totals: Totals): string {
  return shownStatuses
    .filter((status) => totals[status] > 0)
    .map((status) => `${totals[status]} ${status}`)
    .join(", ");
}

/** The shares of the statuses, with the counts as its text. */
export function statusBar(totals: Totals): Html {
  const all = countAll(totals);
  if (all === 0) return html`<span class="quiet">no servers</span>`;
  let before = 0;
  const parts = shownStatuses
    .filter((status) => totals[status] > 0)
    .map((status) => {
      const share = (totals[status] / all) * 100;
      const part = html`<rect
        x="${percent(before)}"
        width="${percent(share)}"
        height="100%"
        ${fillOf(status)}
      />`;
      before += share;
      return part;
    });
  const text = totalsText(totals);
  return html`<svg class="bar" role="img" aria-label="${text}">
    <title>${text}</title>
    ${parts}
  </svg>`;
}

function percent(share: number): string {
  return `${Number(share.toFixed(3))}%`;
}
