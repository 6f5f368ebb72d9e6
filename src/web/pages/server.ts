import type { ExplanationView } from "../../api/operations/explain.ts";
import type { IncidentView } from "../../api/operations/incidents.ts";
import type { ServerView } from "../../api/operations/targets.ts";
import { ageOf, html, type Html } from "../html.ts";
import type { Timeline } from "./band.ts";
import { historyCard, incidentsCard, timelineCard, type Range } from "./history-cards.ts";
import { shortText, statusOf } from "./fleet-list.ts";
import { page, type PageAt } from "./layout.ts";
import { sandboxAddress, serverAddress, serversAddress } from "./servers-address.ts";
import type { SandboxPlace } from "./servers-address.ts";
import { nameOf } from "./servers.ts";
import { shellWord } from "./shell-word.ts";
import { hatch } from "./status-bar.ts";

/** Where a server is, or was last. */
export interface ServerPlace extends SandboxPlace {
  readonly server_id: string;
}

export interface ServerPageView {
  readonly place: ServerPlace;
  readonly explanation: ExplanationView;
  /** Undefined: it is gone from there. */
  readonly present: ServerView | undefined;
  readonly range: Range;
  readonly timeline: Timeline;
  readonly incidents: readonly IncidentView[];
  readonly remarks: readonly string[];
  readonly mayAct: boolean;
  readonly mayCall: boolean;
}

const longestId = 512;

export function renderServer(view: ServerPageView, at: PageAt): string {
  const { place, explanation, present, range, timeline, incidents, remarks } = view;
  const address = serverAddress(place);
  const name = nameOf(explanation);
  const id = shortText(place.server_id, longestId);
  const elsewhere = explanation.listed.filter(
    (each) => serverAddress({ ...place, ...each }) !== address,
  );
  return page({ title: `${name} · ${present?.status ?? "gone"}`, section: "Servers", ...at }, [
    hatch,
    html`<div class="card" id="server" data-live>
      ${remarks.map((remark) => html`<p class="remark" role="status">${shortText(remark, 500)}</p>`)}
      <h1>${name} <span class="id">${id}</span></h1>
      <p class="now">${nowOf(present, at)}</p>
      <dl>
        <dt>Region / key</dt>
        <dd>
          <a href="${serversAddress({ region: [place.region], key: [place.key] })}"
            >${place.region} / ${place.key}</a
          >
        </dd>
        <dt>Sandbox</dt>
        <dd class="id">
          <a href="${sandboxAddress(place)}">${shortText(place.sandbox_id, longestId)}</a>
        </dd>
        ${factsOf(present)}
        ${
          elsewhere.length === 0
            ? ""
            : html`<dt>Also listed in</dt>
                <dd>
                  ${elsewhere.map(
                    (each) =>
                      html`<a href="${serverAddress({ ...place, ...each })}"
                        >${each.region} / ${each.key}, ${each.status}</a
                      > `,
                  )}
                </dd>`
        }
      </dl>
      ${view.mayAct ? silenceLink(place) : ""}
    </div>`,
    timelineCard(address, range, timeline),
    incidentsCard(incidents, at),
    historyCard(`${address}&range=${range}`, explanation),
    commandsCard(view),
  ]);
}

function nowOf(present: ServerView | undefined, { nowMs }: PageAt): Html {
  if (!present) return html`<strong>Gone</strong>: it is not listed there any more.`;
  return html`${statusOf(present)} for ${ageOf(Date.parse(present.since), nowMs)}`;
}

function factsOf(present: ServerView | undefined): readonly Html[] {
  if (!present) return [];
  const { tags, benchmark, missing } = present;
  const links = tags.map(
    (tag) => html`<a href="${serversAddress({ tag: [tag] })}">${shortText(tag)}</a> `,
  );
  return [
    ...(tags.length === 0
      ? []
      : [
          html`<dt>Tags</dt>
            <dd>${links}</dd> `,
        ]),
    ...(benchmark === null
      ? []
      : [
          html`<dt>Benchmark</dt>
            <dd>${shortText(benchmark)}</dd> `,
        ]),
    ...(missing === 0
      ? []
      : [
          html`<dt>Missing</dt>
            <dd>from the last ${missing} complete listings</dd> `,
        ]),
  ];
}

function silenceLink({ region, key, server_id: server }: ServerPlace): Html {
  const query = new URLSearchParams({ region, key, server });
  return html`<p class="actions">
    <a class="button" href="server/silence?${query.toString()}" data-act>Silence</a>
  </p>`;
}

function commandsCard({ place, mayCall }: ServerPageView): Html {
  const { region, key, server_id: id } = place;
  return html`<div class="card">
    <h2>On the command line</h2>
    <p><code>sandwatch explain ${shellWord(id)}</code></p>
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
