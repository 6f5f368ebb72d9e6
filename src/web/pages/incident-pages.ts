import type { z } from "zod";
import type { showIncident } from "../../api/operations/show-incident.ts";
import { incidentNotes, type IncidentView } from "../../api/operations/incidents.ts";
import {
  ageOf,
  factRows,
  html,
  table,
  timeOf,
  type Column,
  type Fact,
  type Html,
} from "../html.ts";
import { runbookOf, subjectLink } from "../../alerts/links.ts";
import { factsOfNames, kindOf, placeText, type SubjectKind } from "../../alerts/subjects.ts";
import { counted } from "../../fleet/text.ts";
import { labelNote } from "./label-filter.ts";
import { page, type PageAt } from "./layout.ts";
import { titleOfRunbook } from "./runbook-pages.ts";
import { sandboxAddress } from "./servers-address.ts";

export type IncidentDetails = z.output<typeof showIncident.response>;

/** What the incidents of a list have in common. Each is a configured name, or what could be one. */
export interface Selection {
  readonly rule?: string;
  readonly region?: string;
  readonly key?: string;
}

/** Further ones would only be scrolled past. */
const mostEvents = 100;
const mostReceivers = 5;

/** Who was notified that it fires, and when; a message may not be delivered, or may not be stored any more. */
function notifiedText({ receivers, notified }: IncidentDetails): Html | string {
  const names = new Set([...receivers, ...notified.map(({ receiver }) => receiver)]);
  if (names.size === 0) return "nobody";
  const lost = notified.filter(({ state }) => state !== "delivered").length;
  const parts = [...names].map((name, index) => {
    const found = notified.find(({ receiver }) => receiver === name);
    return html`${index === 0 ? "" : " · "}${name}${found ? deliveryText(found) : ""}`;
  });
  const list = html`${parts}`;
  if (names.size <= mostReceivers) return list;
  return html`<details>
    <summary>
      ${counted(names.size, "receiver")}${lost === 0 ? "" : `, ${lost} without the message`}
    </summary>
    ${list}
  </details>`;
}

function deliveryText({ state, settled_at: at }: IncidentDetails["notified"][number]): Html {
  if (state === "delivered") return at === null ? html`` : html`, ${shownTime(at)}`;
  if (state === "pending") return html`: the message waits`;
  return html`: <span class="bad">not delivered</span>`;
}

export function renderIncident(incident: IncidentDetails, at: PageAt): string {
  const { rule, severity, note, events } = incident;
  const runbook = runbookLink(incident);
  const { acknowledged_by: author, acknowledged_at: acknowledgedAt } = incident;
  const { acknowledged_until: acknowledgedUntil, silences } = incident;
  const { inhibited_by: inhibitor } = incident;
  const about = subjectLink(incident.subject, factsOfNames(incident));
  const linked = (subject: SubjectKind, text: string | null) =>
    about && text && subject === incident.subject
      ? html`<a href="../${about.url}">${text}</a>`
      : text;
  const facts: readonly Fact[] = [
    ["state", stateText(incident)],
    ["severity", severity],
    ["rule", rule],
    ["region", incident.region],
    ["key", incident.key],
    ["sandbox", sandboxLink(incident)],
    ["server", incident.server_name],
    ["server id", linked("server", incident.server_id)],
    ["probe", incident.probe],
    ["receiver", incident.receiver],
    [incident.state === "firing" && !incident.holds ? "status then" : "status", incident.status],
    ["before", incident.previous_status],
    ["now", presentText(incident)],
    ["since", shownTime(incident.started_at)],
    ["resolved", shownTime(incident.resolved_at)],
    ["notified", notifiedText(incident)],
    ["inhibited by", inhibitor && html`<a href="${inhibitor}">${inhibitor}</a>`],
    [
      "acknowledged",
      author &&
        html`by ${author},
        ${shownTime(acknowledgedAt) ?? ""}${acknowledgedUntil === null ? "" : html`, until ${shownTime(acknowledgedUntil)}`}`,
    ],
    ["note", note],
    ["silenced until", shownTime(incident.silenced_until)],
    ...silenceFacts(silences, "../"),
    ["runbook", runbook && html`<a href="${runbook.url}">${runbook.text}</a>`],
  ];
  const isOver = incident.state === "resolved";
  const earlier = events.length - mostEvents;
  const links = html`<p class="actions">
    ${isOver ? "" : actionsOf(incident)} ${endLinks(silences, "../")}
  </p>`;
  return page(
    { title: `${incident.state} · ${rule}`, section: "Incidents", ...at },
    html`<div class="card" id="incident" data-live>
      <h1>${isOver ? incident.summary : incident.headline}</h1>
      ${isOver && silences.length === 0 ? "" : links}
      <dl>${factRows(facts.filter(([, value]) => value !== ""))}</dl>
      <h2>What happened</h2>
      ${earlier > 0 ? html`<p class="quiet">${counted(earlier, "earlier event")}: <code>sandwatch explain</code> lists them.</p>` : ""}
      ${table(events.slice(-mostEvents), eventColumns)}
    </div>`,
  );
}

type Silences = IncidentDetails["silences"];

export function silenceFacts(silences: Silences, root: string): readonly Fact[] {
  return silences.map(({ id, author, reason }) => [
    "Silence",
    html`<a href="${root}silences/${id}">by ${author ?? ""}: ${reason ?? ""}</a>`,
  ]);
}

export function endLinks(silences: Silences, root: string): readonly Html[] {
  return silences.map(
    ({ id }) =>
      html`<a class="button" href="${root}silences/${id ?? ""}/end" data-act>End silence</a> `,
  );
}

function presentText({ present_status: status, present_since: since }: IncidentDetails) {
  if (status === null) return null;
  return since === null ? status : html`${status} (since ${shownTime(since)})`;
}

function runbookLink(incident: IncidentDetails): { text: string; url: string } | null {
  const { runbook_url: own, resolved_reason: resolvedReason } = incident;
  if (own !== null) return { text: own, url: own };
  const name = runbookOf({ ...incident, resolvedReason });
  return name && { text: titleOfRunbook(name), url: `../runbooks/${name}` };
}

/** Once somebody has acknowledged it, that is not the first thing to do. */
function actionsOf({ id, acknowledged_by: author }: IncidentDetails): Html {
  const acknowledge =
    author === null
      ? html`<a class="button main" href="${id}/acknowledge" data-act>Acknowledge</a>`
      : html`<a class="button" href="${id}/unacknowledge" data-act>Unacknowledge</a>`;
  return html`${acknowledge} <a class="button" href="${id}/silence" data-act>Silence</a>`;
}

/** Also of an incident of a server. */
function sandboxLink({ region, key, sandbox_id }: IncidentDetails): Html | null {
  if (region === null || key === null || sandbox_id === null) return null;
  return html`<a href="../${sandboxAddress({ region, key, sandbox_id })}">${sandbox_id}</a>`;
}

const eventColumns: readonly Column<IncidentDetails["events"][number]>[] = [
  { head: "time", cell: ({ at }) => shownTime(at) ?? "", tone: "time" },
  { head: "event", cell: ({ text }) => text },
];

export function renderIncidents(
  selection: Selection,
  label: readonly string[],
  found: {
    readonly open: readonly IncidentView[];
    readonly hasMore: boolean;
    readonly resolved: readonly IncidentView[];
    /** In force for one of those that are open. */
    readonly silences: IncidentDetails["silences"];
  },
  at: PageAt,
): string {
  const { hasMore, resolved } = found;
  const open = found.open.filter(({ observed }) => observed);
  const unobserved = found.open.filter(({ observed }) => !observed);
  const query = queryOf(selection);
  const links = html`<p class="actions">
    <a class="button" href="incidents/acknowledge${query}" data-act>Acknowledge all</a>
    ${query === "" ? "" : html`<a class="button" href="incidents/silence${query}" data-act>Silence</a>`}
    ${endLinks(found.silences, "")}
  </p>`;
  const isFiring = ({ state }: IncidentView): boolean => state === "firing";
  const firing = open.filter(isFiring);
  const list = (incidents: readonly IncidentView[]): Html =>
    incidents.length === 0
      ? html`<p class="quiet">None.</p>`
      : table(incidents, incidentColumns(at));
  return page(
    { title: `${firing.length} firing`, section: "Incidents", ...at },
    html`<div class="card" id="incidents" data-live>
      <h1>Incidents${query === "" ? "" : `: ${textOf(selection)}`}</h1>
      ${labelNote(label, `incidents${query}`)}
      ${found.open.some(isFiring) && label.length === 0 ? links : ""}
      <h2>Open</h2>
      ${list(open)} ${hasMore ? html`<p>and more</p>` : ""}
      ${
        unobserved.length === 0
          ? ""
          : html`<h2>Not observed at present, so when last observed</h2>
              ${list(unobserved)}`
      }
      <h2>Recently resolved</h2>
      ${list(resolved)}
    </div>`,
  );
}

export const incidentColumns = ({ root, nowMs }: PageAt): readonly Column<IncidentView>[] => [
  {
    head: "Incident",
    cell: ({ id, rule, subject, ...incident }) => {
      const facts = factsOfNames(incident);
      const [place, name] = [placeText(facts), kindOf(subject).name(facts)];
      return html`<a href="${root}incidents/${id}">${name || `${subject} ${place}`}</a>
        <small>${name && place} ${rule} ${id}</small>`;
    },
    tone: "incident",
  },
  {
    head: "State",
    cell: stateText,
    tone: ({ state, muted, inhibited_by: inhibitor }) =>
      `words ${muted || inhibitor !== null ? "quiet" : state === "firing" ? "bad" : ""}`,
  },
  {
    head: "Started",
    cell: ({ started_at: at }) => html`${ageOf(Date.parse(at), nowMs)} ago`,
    tone: "age",
  },
];

/** Which incident inhibits one is said on its page. */
function stateText(incident: IncidentView): string {
  const { state, resolved_reason: reason } = incident;
  const stated = reason === null ? state : `${state} (${reason})`;
  return [stated, ...incidentNotes(incident, false)].join(", ");
}

export function shownTime(iso: string): Html;
export function shownTime(iso: string | null): Html | null;
export function shownTime(iso: string | null): Html | null {
  return iso === null ? null : timeOf(Date.parse(iso));
}

export function queryOf(selection: Selection): string {
  const query = new URLSearchParams({ ...selection }).toString();
  return query === "" ? "" : `?${query}`;
}

export function textOf(selection: Selection): string {
  return Object.entries(selection)
    .map(([name, value]) => `${name} ${value}`)
    .join(", ");
}
