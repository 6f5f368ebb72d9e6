import type { ExplanationView } from "../../api/operations/explain.ts";
import type { IncidentView } from "../../api/operations/incidents.ts";
import { commandText, factRows, html, type Fact, type Html } from "../html.ts";
import type { Timeline } from "./band.ts";
import { shortText } from "./fleet-list.ts";
import { historyCard, incidentsCard, timelineCard, type Range } from "./history-cards.ts";
import { endLinks, silenceFacts, type IncidentDetails } from "./incident-pages.ts";
import { page, type PageAt } from "./layout.ts";
import type { SandboxPlace } from "./servers-address.ts";
import { shellWord } from "./shell-word.ts";
import { hatch } from "./status-bar.ts";

/** A server or a sandbox as its page shows it to a reader who may do this. */
export interface SubjectView {
  readonly range: Range;
  readonly timeline: Timeline;
  readonly incidents: readonly IncidentView[];
  /** Of it alone. */
  readonly silences: IncidentDetails["silences"];
  readonly explanation: Pick<ExplanationView, "events" | "next">;
  readonly remarks: readonly string[];
  readonly mayAct: boolean;
  readonly mayCall: boolean;
}

export interface SubjectPage {
  readonly kind: "server" | "sandbox";
  readonly section: "Servers" | "Sandboxes";
  readonly title: string;
  readonly address: string;
  readonly place: Pick<SandboxPlace, "region" | "key">;
  /** The address of the list of its target. */
  readonly targetAddress: string;
  readonly heading: Html;
  readonly now: Html;
  /** Null: it has none. */
  readonly facts: readonly Fact[];
  readonly actions: Html;
  /** They stand before its timeline. */
  readonly cards: readonly Html[];
  readonly commands: readonly string[];
}

const longestId = 512;

export function idText(id: string): string {
  return shortText(id, longestId);
}

/** The page of a server or a sandbox. */
export function renderSubject(view: SubjectView, subject: SubjectPage, at: PageAt): string {
  const { range, timeline, incidents, silences, explanation, remarks, mayAct } = view;
  const { kind, section, title, address, place, facts } = subject;
  return page({ title, section, ...at }, [
    hatch,
    html`<div class="card" id="${kind}" data-live>
      ${remarks.map((remark) => html`<p class="remark" role="status">${shortText(remark, 500)}</p>`)}
      <h1>${subject.heading}</h1>
      <p class="now">${subject.now}</p>
      <dl>
        <dt>Region / key</dt>
        <dd><a href="${subject.targetAddress}">${place.region} / ${place.key}</a></dd>
        ${factRows([...facts, ...silenceFacts(silences, "")])}
      </dl>
      ${mayAct ? html`<p class="actions">${subject.actions} ${endLinks(silences, "")}</p>` : ""}
    </div>`,
    ...subject.cards,
    timelineCard(address, range, timeline),
    incidentsCard(incidents, at),
    historyCard(`${address}&range=${range}`, explanation),
    commandsCard(view, subject),
  ]);
}

interface Listed {
  readonly region: string;
  readonly key: string;
  readonly status: string;
}

/** Two keys may list the same one. @param addressOf the page of it where it is listed */
export function elsewhereOf<Each extends Listed>(
  listed: readonly Each[],
  address: string,
  addressOf: (each: Each) => string,
): Html | null {
  const elsewhere = listed.filter((each) => addressOf(each) !== address);
  if (elsewhere.length === 0) return null;
  return html`${elsewhere.map(
    (each) => html`<a href="${addressOf(each)}">${each.region} / ${each.key}, ${each.status}</a> `,
  )}`;
}

export function missingText(missing: number): string | null {
  return missing === 0 ? null : `from the last ${missing} complete listings`;
}

function commandsCard({ mayCall }: SubjectView, { place, commands }: SubjectPage): Html {
  return html`<div class="card">
    <h2>On the command line</h2>
    ${commands.map((command) => html`<p><code>${commandText(command)}</code></p> `)}
    ${
      mayCall
        ? html`<p>
            <code
              >sandwatch lookup sandboxes --region ${shellWord(place.region)} --key
              ${shellWord(place.key)}</code
            >
            <span class="quiet">calls the service and shows what it lists now</span>
          </p>`
        : ""
    }
  </div>`;
}
