import { subjectLink } from "../../alerts/links.ts";
import { counted, countText } from "../../fleet/text.ts";
import { shownName } from "../../fleet/text.ts";
import { ageOf, html, numberOf, timeOf, type Html } from "../html.ts";
import type { Firing, FiringGroup } from "./firing.ts";
import { receiversText } from "./fleet-list.ts";

/** Further ones are only counted. */
const mostRows = 20;

/** The headline of more does not name all of them. */
const mostNamed = 5;

/** What is wrong, worst first, and what can be done about it. */
export function firingCard(
  { groups, silenced, cleared, unobserved, inhibited, pending }: Firing,
  mayAct: boolean,
  nowMs: number,
): Html {
  const notes = [
    ...(inhibited > 0 ? [`${inhibited} inhibited by these`] : []),
    ...(pending > 0 ? [`${pending} pending`] : []),
  ];
  const titled = (title: string, some: readonly FiringGroup[]): Html =>
    some.length === 0
      ? html``
      : html`<h3>${title}</h3>
          ${listOf(some, mayAct, nowMs)}`;
  return html`<section class="card" id="firing" data-live aria-labelledby="firing-title">
    <h2 id="firing-title">Firing</h2>
    ${groups.length === 0 ? html`<p class="quiet">No incident is firing.</p>` : listOf(groups, mayAct, nowMs)}
    ${titled("Flapping or recovering, well now", cleared)}
    ${titled("Not observed at present, so when last observed", unobserved)}
    ${
      silenced.length === 0
        ? ""
        : html`<details id="silenced">
            <summary>
              ${counted(
                silenced.reduce((sum, each) => sum + each.incidents.length, 0),
                "silenced incident",
              )}
            </summary>
            ${listOf(silenced, mayAct, nowMs)}
          </details>`
    }
    ${notes.length === 0 ? "" : html`<p class="quiet"><a href="incidents">${notes.join(", ")}</a></p>`}
  </section>`;
}

function listOf(groups: readonly FiringGroup[], mayAct: boolean, nowMs: number): Html {
  const more = groups.length - mostRows;
  return html`<ul class="incidents">
      ${groups.slice(0, mostRows).map((group) => incidentLine(group, mayAct, nowMs))}
    </ul>
    ${more > 0 ? html`<p><a href="incidents">and ${more} more</a></p>` : ""}`;
}

function incidentLine(group: FiringGroup, mayAct: boolean, nowMs: number): Html {
  const {
    id,
    severity,
    headline,
    incidents,
    detail,
    unmonitored,
    isAcknowledged,
    links,
    runbookUrl,
  } = group;
  const [show, ...actions] = links;
  const facts: readonly (Html | string | false | null)[] = [
    severity,
    ageOf(group.startedAtMs, nowMs),
    detail,
    lastStatusText(group),
    unmonitored > 0 && `${counted(unmonitored, "server")} unobserved`,
    flappingText(group),
    group.nowSinceMs !== null && html`since ${timeOf(group.nowSinceMs)}`,
    ...notifiedTexts(group, nowMs),
    acknowledgedText(group),
  ];
  const shown = facts.filter((fact) => fact !== null && fact !== false);
  const undo = group.silenceIds.map((silence) => ({
    text: "End silence",
    url: `silences/${silence}/end`,
  }));
  const buttons = (mayAct ? (undo.length > 0 ? undo : actions) : []).map(
    ({ text, url }) =>
      html`<a class="button ${text === "Acknowledge" ? "main" : ""}" href="${url}" data-act
        >${text}</a
      > `,
  );
  return html`<li class="${isAcknowledged ? "acknowledged" : severity}" id="${id}">
    <div>
      <p class="what">
        <a href="${show?.url ?? "incidents"}">${headline}</a
        >${incidents.length > mostNamed ? html` <span class="count">${numberOf(incidents.length)} incidents</span>` : ""}
      </p>
      <p class="facts">${shown.map((fact, index) => html`${index === 0 ? "" : " · "}${fact}`)}</p>
    </div>
    <p class="actions">
      ${buttons}${pageLink(group)}${runbookUrl === null ? "" : html`<a class="button" href="${runbookUrl}" rel="noreferrer">Runbook</a>`}
    </p>
  </li>`;
}

function pageLink({ incidents: [first, ...others] }: FiringGroup): Html {
  const link = first && others.length === 0 && subjectLink(first.subject, first);
  return link ? html`<a class="button" href="${link.url}">${link.text}</a> ` : html``;
}

function lastStatusText({ incidents }: FiringGroup): string | null {
  const before = new Set(incidents.map(({ previousStatus }) => previousStatus));
  const [status] = before;
  return before.size === 1 && status ? (status === "absent" ? "new" : `was ${status}`) : null;
}

function flappingText({ flapping, incidents }: FiringGroup): string | null {
  if (flapping === 0) return null;
  return flapping === incidents.length ? "flapping" : `${countText(flapping)} of them flapping`;
}

function notifiedTexts(
  { receivers, waitingFor, failingTo, firedAtMs }: FiringGroup,
  nowMs: number,
): readonly (Html | string)[] {
  const names = receiversText(receivers);
  const ago = firedAtMs === null ? "" : html` ${ageOf(firedAtMs, nowMs)} ago`;
  return [
    receivers.length === 0 ? "nobody notified" : html`notified ${names}${ago}`,
    ...(waitingFor.length === 0 ? [] : [`waiting for ${receiversText(waitingFor)}`]),
    ...(failingTo.length === 0
      ? []
      : [html`<span class="bad">not delivered to ${receiversText(failingTo)}</span>`]),
  ];
}

function acknowledgedText({ acknowledgedBy: authors, isAcknowledged }: FiringGroup): string | null {
  if (authors.length === 0) return null;
  return `${isAcknowledged ? "" : "in part "}acknowledged by ${authors.map(shownName).join(", ")}`;
}
