import type { ExplanationView } from "../../api/operations/explain.ts";
import type { IncidentView } from "../../api/operations/incidents.ts";
import { withShortIds } from "../../fleet/text.ts";
import { html, table, timeOf, type Column, type Html } from "../html.ts";
import { band, bandSums, bandTable, type Timeline } from "./band.ts";
import { shortText } from "./fleet-list.ts";
import { incidentColumns } from "./incident-pages.ts";
import type { PageAt } from "./layout.ts";

/** Ranges of a timeline. */
export const ranges = ["24h", "7d", "30d"] as const;
export type Range = (typeof ranges)[number];

const rangeWords = { "24h": "24 hours", "7d": "7 days", "30d": "30 days" } as const;

/** The range that an address asks for, and what is wrong with it. */
export function readRange(wanted = "24h") {
  const range = ranges.find((each) => each === wanted) ?? "24h";
  const remarks =
    range === wanted ? [] : [`There is no range ${JSON.stringify(wanted)}: this is 24h.`];
  return { range, remarks };
}

/** What a server or sandbox was. @param address of its page */
export function timelineCard(address: string, range: Range, timeline: Timeline): Html {
  const tabs = ranges.map((each) => {
    const current = each === range ? html`aria-current="true"` : "";
    return html`<a href="${address}&amp;range=${each}" ${current}>${rangeWords[each]}</a> `;
  });
  const report = address.replace("server?", "report?").replace("sandbox?", "report?of=sandboxes&");
  return html`<div class="card" id="timeline" data-live>
    <div class="head">
      <h2>Timeline</h2>
      <nav class="segments" aria-label="Range of the timeline">${tabs}</nav>
    </div>
    ${band(timeline, `The last ${rangeWords[range]}`)}
    <p class="axis"><span>${timeOf(Date.parse(timeline.from))}</span><span>now</span></p>
    ${bandSums(timeline)}
    <p><a href="${report}&amp;from=${range}">Report of this range</a></p>
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

export function incidentsCard(incidents: readonly IncidentView[], at: PageAt): Html {
  return html`<div class="card" id="incidents" data-live>
    <h2>Incidents</h2>
    ${incidents.length === 0 ? html`<p class="quiet">None.</p>` : table(incidents, incidentColumns(at))}
  </div>`;
}

type Event = ExplanationView["events"][number];

const eventColumns: readonly Column<Event>[] = [
  { head: "Time", cell: ({ at }) => timeOf(Date.parse(at)) },
  {
    head: "Kind",
    cell: ({ event }) => (event.endsWith(".changed") ? "change" : kindOf(event)),
    tone: "words",
  },
  {
    head: "Event",
    cell({ text, incident_id: incident }) {
      const shown = shortText(withShortIds(text), longestEvent);
      return incident === null ? shown : html`<a href="incidents/${incident}">${shown}</a>`;
    },
  },
];

function kindOf(event: string): string {
  return event.replace(/\..*/, "");
}

const longestEvent = 400;

/** Everything that `explain` lists, the latest first. @param address of the page, with its range */
export function historyCard(
  address: string,
  { events, next }: Pick<ExplanationView, "events" | "next">,
): Html {
  const older = `${address}&before=${encodeURIComponent(next ?? "")}#history`;
  return html`<div class="card" id="history" data-live>
    <h2>Changes, incidents and notifications</h2>
    ${events.length === 0 ? html`<p class="quiet">None is kept.</p>` : table(events.toReversed(), eventColumns)}
    ${next === null ? "" : html`<p><a class="button" href="${older}">Older</a></p>`}
  </div>`;
}
