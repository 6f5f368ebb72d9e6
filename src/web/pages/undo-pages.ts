import type { z } from "zod";
import { matchText } from "../../alerts/silence.ts";
import type { silenceView } from "../../api/operations/silences.ts";
import { counted } from "../../fleet/text.ts";
import { factRows, html, type Fact, type Html } from "../html.ts";
import { listOf, optionsOf, renderAction, selectingFields } from "./action-pages.ts";
import { silenceLasts, subjectOf } from "./action-pages.ts";
import type { ActedOn, Actor, FoundIncidents } from "./action-pages.ts";
import { shownTime, type IncidentDetails } from "./incident-pages.ts";
import { page, type PageAt } from "./layout.ts";

export type Silence = z.output<typeof silenceView>;

const title = "Unacknowledge";
const nothing = "No such incident is acknowledged: there is nothing to withdraw.";

export function renderUnacknowledge(incident: IncidentDetails, actor: Actor, at: PageAt): string {
  const { id, acknowledged_by: author, acknowledged_at: since, note } = incident;
  return renderAction(at, {
    title,
    what: html`${subjectOf(incident)}
      <p>
        ${author === null ? "" : html`Acknowledged by ${author}, ${shownTime(since) ?? ""}${note === null ? "" : `: ${note}`}. `}Its
        reminders go on.
      </p>`,
    actor: author === null ? { kind: "refused", reason: nothing } : actor,
    post: `incidents/${id}/unacknowledge`,
    fields: {},
    inputs: html``,
    next: `incidents/${id}`,
    command: `sandwatch unack ${id} --author NAME`,
  });
}

export function renderUnacknowledgeAll(
  actedOn: ActedOn,
  { incidents }: FoundIncidents,
  actor: Actor,
  at: PageAt,
): string {
  const acknowledged = incidents.filter(({ acknowledged_by: author }) => author !== null);
  const isNone = acknowledged.length === 0;
  return renderAction(at, {
    title,
    what: html`<p>
        <strong>${counted(acknowledged.length, "acknowledged incident")}</strong>${actedOn.of}
      </p>
      <p>Their reminders go on.</p>
      ${listOf(acknowledged, at)}`,
    actor: isNone ? { kind: "refused", reason: nothing } : actor,
    post: "incidents/unacknowledge",
    fields: selectingFields(actedOn),
    inputs: html``,
    next: actedOn.next,
    command: `sandwatch unack ${optionsOf(actedOn)} --author NAME`,
  });
}

export function renderSilencePage(silence: Silence, at: PageAt): string {
  const { id, state } = silence;
  const facts: readonly Fact[] = [
    ["state", state.replace("_", " ")],
    ["matches", matchText(silence.match)],
    ["by", silence.author],
    ["reason", silence.reason],
    ["from", shownTime(silence.starts_at)],
    ["until", shownTime(silence.ends_at)],
    ["changed", changeText(silence)],
  ];
  const actions = html`<p class="actions">
    <a class="button" href="${id}/end" data-act>End silence</a>
    <a class="button" href="${id}/change" data-act>Shorten or prolong</a>
  </p>`;
  return page(
    { title: "Silence", section: "Incidents", ...at },
    html`<div class="card" id="silence" data-live>
      <h1>Silence ${id}</h1>
      ${state === "ended" ? "" : actions}
      <dl>${factRows(facts)}</dl>
    </div>`,
  );
}

function changeText({ changed_by: by, changed_at: at }: Silence): Html | null {
  return at === null ? null : html`${by === null ? "" : `by ${by}, `}${shownTime(at)}`;
}

export function renderChangeSilence(silence: Silence, actor: Actor, at: PageAt): string {
  const { id } = silence;
  return renderAction(at, {
    title: "Shorten or prolong",
    what: html`${silenceText(silence)}
      <p>Choose how long it lasts from now.</p>`,
    actor: actorFor(silence, actor),
    post: `silences/${id}`,
    fields: {},
    inputs: silenceLasts,
    next: `silences/${id}`,
    command: `sandwatch silence change ${id} --for 1h --author NAME`,
  });
}

export function renderEndSilence(silence: Silence, actor: Actor, at: PageAt): string {
  const { id } = silence;
  return renderAction(at, {
    title: "End silence",
    what: html`${silenceText(silence)}
      <p>Receivers are notified at once of what it matches that is still firing.</p>`,
    actor: actorFor(silence, actor),
    post: `silences/${id}/expire`,
    fields: {},
    inputs: html``,
    next: `silences/${id}`,
    command: `sandwatch silence expire ${id} --author NAME`,
  });
}

function silenceText({ id, match, author, reason, ends_at: end }: Silence): Html {
  return html`<p>
    <code>${matchText(match)}</code> is silenced by ${author ?? ""} until ${shownTime(end)}:
    ${reason ?? ""}<br />silence
    <a href="../${id}">${id}</a>
  </p>`;
}

function actorFor({ state }: Silence, actor: Actor): Actor {
  return state === "ended" ? { kind: "refused", reason: "It has ended." } : actor;
}
