import type { FastifyInstance } from "fastify";
import { subjectFacts } from "../../alerts/incident.ts";
import { shownName } from "../../fleet/text.ts";
import { shownStatuses, type ShownStatus } from "../../fleet/fleet-search.ts";
import type { Slices } from "../../fleet/slices.ts";
import { allows } from "../../lib/access.ts";
import { runInSlices } from "../../lib/iterables.ts";
import { html, numberOf, type Html } from "../html.ts";
import { findFiring, type FiringView } from "./firing.ts";
import { firingCard } from "./firing-card.ts";
import { sumFleet, type FleetTotals } from "./fleet-totals.ts";
import { composeHeadline, type Headline } from "./headline.ts";
import { keysWith, labelNote, readLabels, type LabelledKeys } from "./label-filter.ts";
import { page, type PageAt } from "./layout.ts";
import { pageRoutes, shareReads, type PageDeps } from "./page-route.ts";
import { probesCard, processesLine, receiversCard } from "./quiet-cards.ts";
import { silencesCard, type QuietView } from "./quiet-cards.ts";
import { createServersCard } from "./servers-card.ts";
import { sandboxesAddress, serversAddress } from "./servers-address.ts";
import { hatch, swatch } from "./status-bar.ts";
import { targetsCard } from "./targets-card.ts";

/** What the overview shows of the daemon. */
export interface StatusView extends FiringView, QuietView {}

/** What differs between readers. */
export interface Reader {
  readonly mayAct: boolean;
  /** The labels of the keys that it is about. Default: it is about all keys. */
  readonly label?: readonly string[];
}

/** The page that a person opens first. The cards of other pages follow what is wrong. */
export function* renderOverview(
  view: StatusView,
  cards: readonly Html[],
  { mayAct, label = [] }: Reader,
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
    labelNote(label, "./"),
    tiles(totals, label),
    html`<div class="columns wide">
      ${firingCard(firing, mayAct, nowMs)} ${targetsCard(view.targets, totals, nowMs)}
    </div>`,
    ...cards,
    html`<div class="columns">
        ${view.probes.length === 0 ? "" : probesCard(view.probes, nowMs)}
        ${silencesCard(view, nowMs)} ${receiversCard(view)}
      </div>
      ${view.processes.length === 0 ? "" : processesLine(view.processes, nowMs)}`,
  ]);
}

function headlineOf({ tone, emphasis, rest, details }: Headline): Html {
  return html`<div id="headline" data-live>
    <h1><span class="${tone}">${emphasis}</span> ${rest}</h1>
    <p class="details">${details.map((each) => html`${each} `)}</p>
  </div>`;
}

function tiles({ all, sandboxes, tightest }: FleetTotals, label: readonly string[]): Html {
  return html`<dl class="tiles" id="tiles" data-live>
    ${shownStatuses.map((status) => statusTile({ status: [status], label }, all[status], sandboxes[status]))}
    <div class="card tile">
      <dt>Least headroom</dt>
      <dd>
        ${
          tightest === null
            ? html`–`
            : html`${numberOf(tightest.idle)}
                <small title="${shownName(tightest.serverName)}"
                  >${shownName(tightest.serverName) || "unnamed"}</small
                >`
        }
      </dd>
    </div>
  </dl>`;
}

function statusTile(
  filter: { readonly status: readonly [ShownStatus]; readonly label: readonly string[] },
  servers: number,
  sandboxes: number,
): Html {
  const [status] = filter.status;
  const tone = (count: number): string => (status === "error" && count > 0 ? "bad" : "");
  return html`<div class="card tile">
    <dt>
      ${swatch(status)}
      <a href="${serversAddress(filter)}">${status[0]?.toUpperCase() + status.slice(1)}</a>
    </dt>
    <dd class="${tone(servers)}">
      ${numberOf(servers)} <small>${servers === 1 ? "server" : "servers"}</small>
    </dd>
    <dd class="second">
      <a class="${tone(sandboxes)}" href="${sandboxesAddress(filter)}"
        >${numberOf(sandboxes)} ${sandboxes === 1 ? "sandbox" : "sandboxes"}</a
      >
    </dd>
  </div>`;
}

interface OverviewDeps extends PageDeps {
  readonly status: () => Promise<StatusView>;
  readonly keys: LabelledKeys;
}

/** Keeps what is of some keys, and what is of none. */
function ofKeys(view: StatusView, keys: readonly string[]): StatusView {
  const { targets, probes, incidentsWithoutTarget } = view;
  const isOf = (key: string | null): boolean => key === null || keys.includes(key);
  return {
    ...view,
    targets: targets.filter(({ target }) => isOf(target.key)),
    probes: probes.filter(({ subject }) => isOf(subject.key)),
    incidentsWithoutTarget: incidentsWithoutTarget.filter(({ subject }) =>
      isOf(subjectFacts(null, subject).key),
    ),
  };
}

/** A part of the overview that other pages are about. */
type OverviewCard = (query: unknown, at: PageAt, keys: readonly string[] | null) => Promise<Html>;

export function addOverview(
  server: FastifyInstance,
  deps: OverviewDeps,
  cards: readonly OverviewCard[],
): void {
  const { clock } = deps;
  // These are the same whatever an address says.
  const readStatus = shareReads(deps.status);
  const serversCard = createServersCard(deps);
  const readServers = shareReads(() => serversCard(clock.now().utcMs));
  pageRoutes(server, clock).addSharedPage("/", async ({ identity, query }, at) => {
    const mayAct = identity !== null && allows(identity.role, "act");
    const label = readLabels(query);
    const keys = keysWith(label, deps.keys);
    const servers = keys ? serversCard(at.nowMs, label) : readServers();
    const shown = await Promise.all([...cards.map((card) => card(query, at, keys)), servers]);
    const view = keys ? ofKeys(await readStatus(), keys) : await readStatus();
    return runInSlices(renderOverview(view, shown, { mayAct, label }, at));
  });
}
