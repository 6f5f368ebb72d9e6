import type { SandboxExplanation } from "../../api/operations/explain-sandbox.ts";
import type { SandboxView } from "../../api/operations/sandboxes.ts";
import type { ServerView } from "../../api/operations/targets.ts";
import { counted } from "../../fleet/text.ts";
import { countByStatus } from "../../fleet/tallies.ts";
import { ageOf, html, table, type Html } from "../html.ts";
import { shortText, statusOf } from "./fleet-list.ts";
import { presentTotals } from "./fleet-totals.ts";
import type { PageAt } from "./layout.ts";
import { sandboxAddress, sandboxesAddress, serversAddress } from "./servers-address.ts";
import type { SandboxPlace } from "./servers-address.ts";
import { attributesColumn, serverColumns } from "./servers.ts";
import { shellWord } from "./shell-word.ts";
import { totalsText } from "./status-bar.ts";
import { elsewhereOf, idText, missingText, renderSubject } from "./subject-page.ts";
import type { SubjectPage, SubjectView } from "./subject-page.ts";

export interface SandboxPageView extends SubjectView {
  readonly place: SandboxPlace;
  readonly explanation: SandboxExplanation;
  /** Undefined: it is gone from there. */
  readonly present: SandboxView | undefined;
  /** The worst ones. */
  readonly servers: readonly ServerView[];
}

export function renderSandbox(view: SandboxPageView, at: PageAt): string {
  const { place, explanation, present } = view;
  const { region, key, sandbox_id: sandbox } = place;
  const address = sandboxAddress(place);
  const id = idText(sandbox);
  const status = present === undefined ? "gone" : present.stale ? "unobserved" : present.status;
  return renderSubject(
    view,
    {
      kind: "sandbox",
      section: "Sandboxes",
      title: `sandbox ${shortText(id, 8)} · ${status}`,
      address,
      place,
      targetAddress: sandboxesAddress({ region: [region], key: [key] }),
      heading: html`Sandbox <span class="id">${id}</span>`,
      now: nowOf(present, at),
      facts: [
        ...(present ? factsOf(present, at) : []),
        [
          "Also listed in",
          elsewhereOf(explanation.listed, address, (each) =>
            sandboxAddress({ ...each, sandbox_id: sandbox }),
          ),
        ],
      ],
      actions: actionsOf(view),
      cards: [serversCard(view, at)],
      commands: [
        `sandwatch explain ${shellWord(sandbox)}`,
        `sandwatch servers --sandbox ${shellWord(sandbox)}`,
        `sandwatch report --from 30d --sandbox ${shellWord(sandbox)} --of sandboxes --format html`,
      ],
    },
    at,
  );
}

function nowOf(present: SandboxView | undefined, { nowMs }: PageAt): Html {
  if (!present) return html`<strong>Gone</strong>: it is not listed there any more.`;
  const spokenFor =
    present.stated_status === null && !present.stale
      ? html` <small>the worst of its servers, as the service states no status of it</small>`
      : "";
  return html`${statusOf(present)} for ${ageOf(Date.parse(present.since), nowMs)}${spokenFor}`;
}

function factsOf(present: SandboxView, { nowMs }: PageAt): SubjectPage["facts"] {
  const { created_at: created, benchmark, missing } = present;
  return [
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
    ["Missing", missingText(missing)],
  ];
}

/** Such as "5: 1 error, 4 idle". */
function serversText({ servers, stale }: SandboxView): string {
  const all = countByStatus(servers);
  return all === 0 ? "none" : `${all}: ${totalsText(presentTotals(servers, stale))}`;
}

function actionsOf({ place, incidents }: SandboxPageView): Html {
  const { region, key, sandbox_id: sandbox } = place;
  const query = new URLSearchParams({ region, key, sandbox }).toString();
  const firing = incidents.filter(({ state }) => state === "firing");
  const isOpen = firing.some(({ acknowledged_by: author }) => author === null);
  const isAcknowledged = firing.some(({ acknowledged_by: author }) => author !== null);
  const acknowledge = isOpen
    ? html`<a class="button main" href="sandbox/acknowledge?${query}" data-act>Acknowledge</a> `
    : "";
  const undo = isAcknowledged
    ? html` <a class="button" href="sandbox/unacknowledge?${query}" data-act>Unacknowledge</a>`
    : "";
  return html`${acknowledge}<a class="button" href="sandbox/silence?${query}" data-act>Silence</a
    >${undo}`;
}

function serversCard({ place, present, servers }: SandboxPageView, at: PageAt): Html {
  const more = present ? countByStatus(present.servers) - servers.length : 0;
  const all = serversAddress({
    q: place.sandbox_id,
    region: [place.region],
    key: [place.key],
  });
  const [name, status, since] = serverColumns(at);
  const columns = [name, status, since, attributesColumn];
  return html`<div class="card" id="servers" data-live>
    <h2>Servers</h2>
    ${
      servers.length === 0
        ? html`<p class="quiet">None.</p>`
        : table(servers, columns, { attributes: html`class="servers"` })
    }
    ${more > 0 ? html`<p><a href="${all}">and ${counted(more, "more server")}</a></p>` : ""}
  </div>`;
}
