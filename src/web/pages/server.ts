import type { ExplanationView } from "../../api/operations/explain.ts";
import type { IncidentView } from "../../api/operations/incidents.ts";
import type { ServerView } from "../../api/operations/targets.ts";
import { ageOf, html, table, timeOf, type Column, type Html } from "../html.ts";
import { band, bandSums, bandTable, type Timeline } from "./band.ts";
import { incidentColumns } from "./incident-pages.ts";
import { page, type PageAt } from "./layout.ts";
import { serverAddress, serversAddress } from "./servers-address.ts";
import { nameOf, shortText, statusOf } from "./servers.ts";
import { shellWord } from "./shell-word.ts";
import { hatch } from "./status-bar.ts";

export const ranges = ["24h", "7d", "30d"] as const;
export type Range = (typeof ranges)[number];

/** Where a server is, or was last. */
export interface ServerPlace {
  readonly region: string;
  readonly key: string;
  readonly sandbox_id: string;
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
  const { place, explanation, present, incidents, remarks } = view;
  const name = nameOf(explanation);
  const id = shortText(place.server_id, longestId);
  const elsewhere = explanation.listed.filter(
    (each) => serverAddress({ ...place, ...each }) !== serverAddress(place),
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
          <a href="${serversAddress({ q: place.sandbox_id })}"
            >${shortText(place.sandbox_id, longestId)}</a
          >
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
    timelineCard(view),
    html`<div class="card" id="incidents" data-live>
      <h2>Incidents</h2>
      ${incidents.length === 0 ? html`<p class="quiet">None.</p>` : table(incidents, incidentColumns(at))}
    </div>`,
    historyCard(view),
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

function timelineCard({ place, range, timeline }: ServerPageView): Html {
  const tabs = ranges.map((each) => {
    const current = each === range ? html`aria-current="true"` : "";
    return html`<a href="${serverAddress(place)}&amp;range=${each}" ${current}
      >${rangeWords[each]}</a
    > `;
  });
  const label = `The last ${rangeWords[range]}`;
  return html`<div class="card" id="timeline" data-live>
    <div class="head">
      <h2>Timeline</h2>
      <nav class="tabs" aria-label="Range of the timeline">${tabs}</nav>
    </div>
    ${band(timeline, label)}
    <p class="axis"><span>${timeOf(Date.parse(timeline.from))}</span><span>now</span></p>
    ${bandSums(timeline)}
    ${
      timeline.truncated
        ? html`<p class="remark">It changed so often that only the latest changes are drawn.</p>`
        : ""
    }
    <details id="timeline-table">
      <summary>As a table</summary>
      ${bandTable(timeline)}
    </details>
  </div>`;
}

const rangeWords = { "24h": "24 hours", "7d": "7 days", "30d": "30 days" } as const;

type Event = ExplanationView["events"][number];

const eventColumns: readonly Column<Event>[] = [
  { head: "Time", cell: ({ at }) => timeOf(Date.parse(at)) },
  { head: "Kind", cell: ({ event }) => event.replace(/\..*/, "").replace("server", "change") },
  {
    head: "Event",
    cell: ({ text, incident_id: incident }) =>
      incident === null
        ? shortText(text, longestEvent)
        : html`<a href="incidents/${incident}">${shortText(text, longestEvent)}</a>`,
  },
];

const longestEvent = 400;

function historyCard({ place, explanation, range }: ServerPageView): Html {
  const { events, next } = explanation;
  const older = `${serverAddress(place)}&range=${range}&before=${encodeURIComponent(next ?? "")}#history`;
  return html`<div class="card" id="history" data-live>
    <h2>Changes, incidents and notifications</h2>
    ${events.length === 0 ? html`<p class="quiet">None is kept.</p>` : table(events.toReversed(), eventColumns)}
    ${next === null ? "" : html`<p><a class="button" href="${older}">Older</a></p>`}
  </div>`;
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
