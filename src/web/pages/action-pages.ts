import type { IncidentView } from "../../api/operations/incidents.ts";
import { matchText, type SilenceMatch } from "../../alerts/silence.ts";
import { counted } from "../../fleet/text.ts";
import { commandText, html, table, type Html } from "../html.ts";
import { incidentColumns, queryOf, shownTime, textOf } from "./incident-pages.ts";
import type { IncidentDetails, Selection } from "./incident-pages.ts";
import { page, type PageAt } from "./layout.ts";
import { sandboxAddress, type SandboxPlace } from "./servers-address.ts";
import { shellWord } from "./shell-word.ts";

/** Incidents on which one page acts together. */
export interface ActedOn {
  /** The fields that select them, which are options of the commands, too. Without any: all incidents. */
  readonly fields: Readonly<Partial<Record<SelectingField, string>>>;
  /** Of what they are, in words; empty: of anything. */
  readonly of: Html | "";
  /** The page that shows them, below the root. */
  readonly next: string;
}

type SelectingField = "rule" | "region" | "key" | "sandbox" | "server";

export function ofSelection(selection: Selection): ActedOn {
  const query = queryOf(selection);
  const of = query === "" ? "" : html` of ${textOf(selection)}`;
  return { fields: { ...selection }, of, next: `incidents${query}` };
}

/** Of a sandbox and of its servers. */
export function ofSandbox(place: SandboxPlace): ActedOn {
  const { region, key, sandbox_id: sandbox } = place;
  const of = html` of sandbox <span class="id">${sandbox}</span> in ${region}/${key} and of its
    servers`;
  return { fields: { region, key, sandbox }, of, next: sandboxAddress(place) };
}

/** Those that fire, or the first of them. */
export interface FoundIncidents {
  readonly incidents: readonly IncidentView[];
  readonly hasMore: boolean;
}

/** Whether the reader may act, and what has to be asked first. */
export type Actor =
  /** The name is asked for: the request has none. */
  | { readonly kind: "unnamed" }
  | { readonly kind: "named" }
  | { readonly kind: "refused"; readonly reason: string | Html };

export function renderAcknowledge(incident: IncidentDetails, actor: Actor, at: PageAt): string {
  const { id, state, acknowledged_by: author, acknowledged_at: acknowledgedAt } = incident;
  const reason =
    author !== null
      ? html`It was acknowledged by ${author}, ${shownTime(acknowledgedAt) ?? ""}.
          <a href="../${id}/unacknowledge">Unacknowledge</a>`
      : state === "firing"
        ? null
        : incident.resolved_reason === "silenced"
          ? html`It was silenced, and goes on as another one of
              <a href="../../incidents">the open incidents</a>.`
          : `It is ${state}: there is nothing to acknowledge.`;
  return renderAction(at, {
    title: "Acknowledge",
    what: html`${subjectOf(incident)}
      <p>This stops its reminders. You are still notified when it resolves.</p>`,
    actor: reason === null ? actor : { kind: "refused", reason },
    post: `incidents/${id}/acknowledge`,
    fields: {},
    inputs: acknowledgeInputs,
    next: `incidents/${id}`,
    command: `sandwatch ack ${id} --author NAME`,
  });
}

/** An incident, in the time zone of the reader. */
export function subjectOf({ id, headline, rule, started_at: at }: IncidentDetails): Html {
  return html`<p>
    <strong>${headline}</strong><br />rule ${rule}, since ${shownTime(at)}, incident
    <a href="../${id}">${id}</a>
  </p>`;
}

export function renderAcknowledgeAll(
  actedOn: ActedOn,
  { incidents, hasMore }: FoundIncidents,
  actor: Actor,
  at: PageAt,
): string {
  const count = `${hasMore ? "more than " : ""}${counted(incidents.length, "firing incident")}`;
  const reason = "No such incident is firing: there is nothing to acknowledge.";
  return renderAction(at, {
    title: "Acknowledge",
    what: html`<p>
        <strong>${count}</strong>${actedOn.of}, with those that begin to fire until you confirm
      </p>
      <p>This stops their reminders. You are still notified when they resolve.</p>
      ${listOf(incidents, at)}`,
    actor: incidents.length === 0 ? { kind: "refused", reason } : actor,
    post: "incidents/acknowledge",
    fields: selectingFields(actedOn),
    inputs: acknowledgeInputs,
    next: actedOn.next,
    command: `sandwatch ack ${optionsOf(actedOn)} --author NAME`,
  });
}

export function renderSilence(incident: IncidentDetails, actor: Actor, at: PageAt): string {
  const { id, silence, silenced_until: until } = incident;
  return renderAction(at, {
    title: "Silence",
    what: html`${subjectOf(incident)}
    ${until === null ? "" : html`<p>It is silenced until ${shownTime(until) ?? ""}.</p>`}
    ${silenceText(silence)}`,
    actor,
    post: "silences",
    fields: { incident: id },
    inputs: silenceInputs,
    next: `incidents/${id}`,
    command: `sandwatch silence add ${id} --for 1h --reason TEXT --author NAME`,
  });
}

/** Whatever matches, now and later. */
export function renderSilenceAll(actedOn: ActedOn, actor: Actor, at: PageAt): string {
  const { sandbox, server, ...fields } = actedOn.fields;
  const named = {
    ...fields,
    ...(sandbox !== undefined && { sandbox_id: sandbox }),
    ...(server !== undefined && { server_id: server }),
  };
  const match: SilenceMatch = Object.fromEntries(
    Object.entries(named).map(([name, value]) => [name, [value]]),
  );
  return renderAction(at, {
    title: "Silence",
    what: silenceText(match),
    actor,
    post: "silences",
    // It may be gone by now.
    fields: { match, force: true },
    inputs: silenceInputs,
    next: actedOn.next,
    command: `sandwatch silence add ${optionsOf(actedOn)} --for 1h --reason TEXT --author NAME`,
  });
}

/** Further incidents are only counted. */
const mostListed = 200;
const mostUnfolded = 5;

/** Many are folded, so that on a phone nobody scrolls to the button that confirms. */
export function listOf(incidents: readonly IncidentView[], at: PageAt): Html | string {
  if (incidents.length === 0) return "";
  const list = table(incidents, incidentColumns(at), { most: mostListed });
  if (incidents.length <= mostUnfolded) return list;
  return html`<details>
    <summary>Which they are</summary>
    ${list}
  </details>`;
}

export interface Action {
  readonly title: string;
  readonly what: Html;
  readonly actor: Actor;
  /** The path of the operation, below the API's root. */
  readonly post: string;
  /** What is posted beside the inputs. */
  readonly fields: object;
  readonly inputs: Html;
  /** The page that is shown afterwards, below the root. */
  readonly next: string;
  readonly command: string;
}

/** A page that says what will be done. Only the script posts it, once the button is pressed. */
export function renderAction(at: PageAt, action: Action): string {
  const { root } = at;
  const { title, what, actor, post, fields, inputs, next, command } = action;
  const author = html`<label>Your name <input name="author" required maxlength="100" /></label>`;
  const form = html`<form
      hidden
      data-post="${root}api/v1/${post}"
      data-fields="${JSON.stringify(fields)}"
      data-next="${root}${next}"
    >
      ${actor.kind === "unnamed" ? author : ""} ${inputs}
      <button class="main">${title}</button>
      <p role="status"></p>
    </form>
    <p class="quiet">On the command line: <code>${commandText(command)}</code></p>`;
  return page(
    { title, section: "Incidents", ...at },
    html`<div class="card">
      <h1>${title}</h1>
      ${what} ${actor.kind === "refused" ? html`<p class="bad">${actor.reason}</p>` : form}
    </div>`,
  );
}

const acknowledgeInputs = html`<label
    >For
    <select name="duration">
      <option value="">until it resolves</option>
      <option value="1h">1 hour</option>
      <option value="4h">4 hours</option>
      <option value="1d">1 day</option>
    </select></label
  >
  <label>Note <input name="note" maxlength="1000" /></label>`;

export const silenceLasts = html`<label
  >For
  <select name="duration">
    <option value="1h">1 hour</option>
    <option value="4h">4 hours</option>
    <option value="1d">1 day</option>
    <option value="7d">7 days</option>
  </select></label
>`;

const silenceInputs = html`${silenceLasts}
  <label>Reason <input name="reason" required maxlength="1000" /></label>`;

function silenceText(match: SilenceMatch): Html {
  return html`<p>
    This suppresses notifications of all incidents, present and future, with
    <code>${matchText(match)}</code>. An incident that is still firing when the silence ends is
    notified then.
  </p>`;
}

export function selectingFields({ fields }: ActedOn): object {
  return Object.keys(fields).length === 0 ? { all: true } : fields;
}

export function optionsOf({ fields }: ActedOn): string {
  const options = Object.entries(fields).map(([name, value]) => `--${name} ${shellWord(value)}`);
  return options.length === 0 ? "--all" : options.join(" ");
}
