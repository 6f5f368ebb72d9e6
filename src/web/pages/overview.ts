import { shownName } from "../../fleet/readable-text.ts";
import { shownStatuses } from "../../fleet/server-search.ts";
import type { Slices } from "../../fleet/slices.ts";
import { html, numberOf, type Html } from "../html.ts";
import { findFiring, type FiringView } from "./firing.ts";
import { firingCard } from "./firing-card.ts";
import { sumFleet, type FleetTotals } from "./fleet-totals.ts";
import { composeHeadline, type Headline } from "./headline.ts";
import { page, type PageAt } from "./layout.ts";
import { probesCard, receiversCard, replicasCard } from "./quiet-cards.ts";
import { silencesCard, type QuietView } from "./quiet-cards.ts";
import { serversAddress } from "./servers-address.ts";
import { hatch, swatch } from "./status-bar.ts";
import { targetsCard } from "./targets-card.ts";

/** What the overview shows of the daemon. */
export interface StatusView extends FiringView, QuietView {}

/** What differs between readers. */
export interface Reader {
  readonly mayAct: boolean;
}

/** The page that a person opens first. The cards of other pages follow what is wrong. */
export function* renderOverview(
  view: StatusView,
  cards: readonly Html[],
  { mayAct }: Reader,
  at: PageAt,
): Slices<string> {
  const { nowMs } = at;
  const totals = yield* sumFleet(view.targets);
  const firing = yield* findFiring(view);
  const headline = composeHeadline(view, firing, totals, nowMs);
  const title = `${headline.emphasis} ${headline.rest}`.trim().replace(/\.$/, "");
  return page({ title, section: "Overview", modules: ["occupancy"], ...at }, [
    hatch,
    headlineOf(headline),
    tiles(totals),
    html`<div class="columns wide">
      ${firingCard(firing, mayAct, nowMs)} ${targetsCard(view.targets, totals, nowMs)}
    </div>`,
    ...cards,
    html`<div class="columns">
      ${view.probes.length === 0 ? "" : probesCard(view.probes, nowMs)} ${silencesCard(view, nowMs)}
      ${receiversCard(view)} ${view.replicas.length === 0 ? "" : replicasCard(view.replicas, nowMs)}
    </div>`,
  ]);
}

function headlineOf({ tone, emphasis, rest, details }: Headline): Html {
  return html`<div id="headline" data-live>
    <h1><span class="${tone}">${emphasis}</span> ${rest}</h1>
    <p class="details">${details.map((each) => html`${each} `)}</p>
  </div>`;
}

function tiles({ all, tightest }: FleetTotals): Html {
  const tile = (name: Html | string, mark: Html | string, value: Html, tone = ""): Html =>
    html`<div class="card tile">
      <dt>${mark} ${name}</dt>
      <dd class="${tone}">${value}</dd>
    </div>`;
  return html`<dl class="tiles" id="tiles" data-live>
    ${shownStatuses.map((status) =>
      tile(
        html`<a href="${serversAddress({ status: [status] })}"
          >${status[0]?.toUpperCase() + status.slice(1)}</a
        >`,
        swatch(status),
        numberOf(all[status]),
        status === "error" && all.error > 0 ? "bad" : "",
      ),
    )}
    ${tile(
      "Least headroom",
      "",
      tightest === null
        ? html`–`
        : html`${numberOf(tightest.idle)}
            <small>${shownName(tightest.serverName) || "unnamed"}</small>`,
    )}
  </dl>`;
}
