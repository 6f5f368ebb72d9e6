import type { SandboxExplanation } from "../../api/operations/explain-sandbox.ts";
import type { IncidentView } from "../../api/operations/incidents.ts";
import type { SandboxView } from "../../api/operations/sandboxes.ts";
import type { ServerView } from "../../api/operations/targets.ts";
import { counted } from "../../fleet/plural.ts";
import { countByStatus } from "../../fleet/tallies.ts";
import { ageOf, html, type Html } from "../html.ts";
import type { Timeline } from "./band.ts";
import { shortText, statusOf } from "./fleet-list.ts";
import { presentTotals } from "./fleet-totals.ts";
import { historyCard, incidentsCard, timelineCard, type Range } from "./history-cards.ts";
import { page, type PageAt } from "./layout.ts";
import { sandboxAddress, sandboxesAddress, serversAddress } from "./servers-address.ts";
import type { SandboxPlace } from "./servers-address.ts";
import { serverCells } from "./servers.ts";
import { shellWord } from "./shell-word.ts";
import { hatch, totalsText } from "./status-bar.ts";

export interface SandboxPageView {
  readonly place: SandboxPlace;
  readonly explanation: SandboxExplanation;
  /** Undefined: it is gone from there. */
  readonly present: SandboxView | undefined;
  /** The worst ones. */
  readonly servers: readonly ServerView[];
  readonly range: Range;
  readonly timeline: Timeline;
  readonly incidents: readonly IncidentView[];
  readonly remarks: readonly string[];
  readonly mayAct: boolean;
  readonly mayCall: boolean;
}

const longestId = 512;

export function renderSandbox(view: SandboxPageView, at: PageAt): string {
  const { place, explanation, present, range, timeline, incidents, remarks } = view;
  const address = sandboxAddress(place);
  const id = shortText(place.sandbox_id, longestId);
  const status = present === undefined ? "gone" : present.stale ? "unobserved" : present.status;
  return page({ title: `sandbox ${shortText(id, 8)} · ${status}`, section: "Sandboxes", ...at }, [
    hatch,
    html`<div class="card" id="sandbox" data-live>
      ${remarks.map((remark) => html`<p class="remark" role="status">${shortText(remark, 500)}</p>`)}
      <h1>Sandbox <span class="id">${id}</span></h1>
      <p class="now">${nowOf(present, at)}</p>
      <dl>
        <dt>Region / key</dt>
        <dd>
          <a href="${sandboxesAddress({ region: [place.region], key: [place.key] })}"
            >${place.region} / ${place.key}</a
          >
        </dd>
        ${factsOf(present, at)} ${elsewhereOf(view)}
      </dl>
      ${view.mayAct ? actionsOf(view) : ""}
    </div>`,
    serversCard(view, at),
    timelineCard(address, range, timeline),
    incidentsCard(incidents, at),
    historyCard(`${address}&range=${range}`, explanation),
    commandsCard(view),
  ]);
}

function nowOf(present: SandboxView | undefined, { nowMs }: PageAt): Html {
  if (!present) return html`<strong>Gone</strong>: it is not listed there any more.`;
  const spokenFor =
    present.stated_status === null && !present.stale
      ? html` <small>the worst of its servers, as the service states no status of it</small>`
      : "";
  return html`${statusOf(present)} for ${ageOf(Date.parse(present.since), nowMs)}${spokenFor}`;
}

function factsOf(present: SandboxView | undefined, { nowMs }: PageAt): readonly Html[] {
  if (!present) return [];
  const { created_at: created, benchmark, missing } = present;
  const facts: readonly (readonly [name: string, value: Html | string | null])[] = [
    ["Age", created === null ? null : ageOf(Date.parse(created), nowMs)],
    [
      "Benchmark",
      benchmark === null
        ? null
        : html`<a href="${sandboxesAddress({ benchmark: [benchmark] })}"
            >${shortText(benchmark)}</a
          >`,
    ],
    ["Servers", serversText(present)],
    ["Missing", missing === 0 ? null : `from the last ${missing} complete listings`],
  ];
  return facts.flatMap(([name, value]) =>
    value === null
      ? []
      : html`<dt>${name}</dt>
          <dd>${value}</dd> `,
  );
}

/** Such as "5: 1 error, 4 idle". */
function serversText({ servers, stale }: SandboxView): string {
  const all = countByStatus(servers);
  return all === 0 ? "none" : `${all}: ${totalsText(presentTotals(servers, stale))}`;
}

/** Two keys may list the same sandbox. */
function elsewhereOf({ place, explanation: { listed } }: SandboxPageView): Html | "" {
  const places = listed.map((each) => ({ ...each, sandbox_id: place.sandbox_id }));
  const elsewhere = places.filter((each) => sandboxAddress(each) !== sandboxAddress(place));
  if (elsewhere.length === 0) return "";
  return html`<dt>Also listed in</dt>
    <dd>
      ${elsewhere.map(
        (each) =>
          html`<a href="${sandboxAddress(each)}">${each.region} / ${each.key}, ${each.status}</a> `,
      )}
    </dd>`;
}

function actionsOf({ place, incidents }: SandboxPageView): Html {
  const { region, key, sandbox_id: sandbox } = place;
  const query = new URLSearchParams({ region, key, sandbox }).toString();
  const isOpen = incidents.some(
    ({ state, acknowledged_by: author }) => state === "firing" && author === null,
  );
  const acknowledge = isOpen
    ? html`<a class="button main" href="sandbox/acknowledge?${query}" data-act>Acknowledge</a> `
    : "";
  return html`<p class="actions">
    ${acknowledge}<a class="button" href="sandbox/silence?${query}" data-act>Silence</a>
  </p>`;
}

function serversCard({ place, present, servers }: SandboxPageView, { nowMs }: PageAt): Html {
  const more = present ? countByStatus(present.servers) - servers.length : 0;
  const all = serversAddress({
    q: place.sandbox_id,
    region: [place.region],
    key: [place.key],
  });
  const rows = servers.map(
    (server) =>
      html`<tr>
        ${serverCells(server, nowMs)}
        <td class="quiet">${attributesOf(server)}</td>
      </tr> `,
  );
  return html`<div class="card" id="servers" data-live>
    <h2>Servers</h2>
    ${
      rows.length === 0
        ? html`<p class="quiet">None.</p>`
        : html`<table class="servers">
            <thead>
              <tr>
                <th scope="col">Server</th>
                <th scope="col">Status</th>
                <th scope="col">For</th>
                <th scope="col">Tags, benchmark</th>
              </tr>
            </thead>
            <tbody>
              ${rows}
            </tbody>
          </table>`
    }
    ${more > 0 ? html`<p><a href="${all}">and ${counted(more, "more server")}</a></p>` : ""}
  </div>`;
}

function attributesOf({ tags, benchmark }: ServerView): string {
  return shortText([...tags, ...(benchmark === null ? [] : [benchmark])].join(", "));
}

function commandsCard({ place, mayCall }: SandboxPageView): Html {
  const { region, key, sandbox_id: id } = place;
  return html`<div class="card">
    <h2>On the command line</h2>
    <p><code>sandwatch explain ${shellWord(id)}</code></p>
    <p><code>sandwatch servers --sandbox ${shellWord(id)}</code></p>
    ${
      mayCall
        ? html`<p>
            <code
              >sandwatch lookup sandboxes --region ${shellWord(region)} --key
              ${shellWord(key)}</code
            >
            <span class="quiet">calls the service and shows what it lists now</span>
          </p>`
        : ""
    }
  </div>`;
}
