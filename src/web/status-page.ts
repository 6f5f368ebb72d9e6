import type { CountByStatus } from "../fleet/tallies.ts";
import { statuses } from "../fleet/model.ts";
import { html, joinHtml } from "./html.ts";
import type { Html } from "./html.ts";
import { probeSection } from "./probe-table.ts";
import type { ProbeRow } from "./probe-table.ts";
import { moreThan, table, time } from "./table.ts";

/** What the status page shows. Times are UTC milliseconds. */
export interface StatusView {
  readonly version: string;
  readonly nowMs: number;
  readonly targets: readonly TargetView[];
  readonly probes: readonly ProbeRow[];
  readonly incidents: readonly IncidentView[];
  /** Those in force. */
  readonly silences: readonly SilenceView[];
  readonly receivers: readonly ReceiverView[];
}

export interface TargetView {
  readonly region: string;
  readonly key: string;
  readonly state: "up" | "down" | "not polled yet";
  /** Why it is down. */
  readonly reason: string | null;
  /** Why the last listing is partial; null: it is complete, or there is none. */
  readonly partial: string | null;
  readonly lastSuccessAtMs: number | null;
  /** Null: too old to be shown as the present. */
  readonly servers: CountByStatus | null;
}

export interface IncidentView {
  readonly id: string;
  readonly rule: string;
  readonly severity: string;
  readonly state: string;
  /** Null, as the key may be: it lies in none. */
  readonly region: string | null;
  readonly key: string | null;
  readonly subject: string;
  readonly startedAtMs: number;
  /** Whether a silence suppresses its notifications. */
  readonly muted: boolean;
  /** What there is to say of it, such as "acknowledged by ann". */
  readonly notes: readonly string[];
}

export interface SilenceView {
  /** What it is about, such as "region=us rule=server-error". */
  readonly match: string;
  /** Who added it, or which maintenance window it is. */
  readonly by: string;
  readonly reason: string | null;
  readonly endsAtMs: number;
}

export interface ReceiverView {
  readonly receiver: string;
  readonly pending: number;
  readonly dead: number;
}

/** More open incidents than this are only counted. */
const mostIncidents = 200;
const mostSilences = 100;

/** The page that a person opens first: targets, probes, open incidents, silences and receivers. */
export function renderStatusPage(view: StatusView): string {
  const page = html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <meta http-equiv="refresh" content="10" />
        <title>${title(view)}</title>
        <link rel="stylesheet" href="status-page.css" />
      </head>
      <body>
        <h1>sandwatch</h1>
        <h2>Targets</h2>
        ${targetTable(view)} ${probeSection(view.probes)}
        <h2>Open incidents</h2>
        ${incidentTable(view)}
        <h2>Active silences</h2>
        ${silenceTable(view)}
        <h2>Receivers</h2>
        ${receiverTable(view)}
        <p class="foot">
          sandwatch ${view.version}, ${time(view.nowMs)}, reloads every 10 seconds ·
          <a href="metrics">metrics</a> · <a href="-/ready">ready</a> ·
          <a href="-/healthy">healthy</a>
        </p>
      </body>
    </html> `;
  return page.text;
}

export const statusPageStyle = `
:root { color-scheme: light dark; font: 15px/1.5 system-ui, sans-serif; }
body { max-width: 80rem; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.5rem; } h2 { font-size: 1.1rem; margin-top: 2rem; }
table { border-collapse: collapse; width: 100%; }
th, td { text-align: left; padding: .3rem .8rem .3rem 0; border-bottom: 1px solid #8884; }
th { font-weight: 600; opacity: .7; } .number { text-align: right; }
.bad { color: #c5221f; font-weight: 600; } .good { color: #188038; }
.id { font: .75rem ui-monospace, monospace; white-space: nowrap; }
.quiet, .foot { opacity: .7; } .foot { margin-top: 3rem; font-size: .85rem; }
@media (prefers-color-scheme: dark) { .bad { color: #ff8a80; } .good { color: #81c995; } }
`;

/** A browser tab shows the counts. */
function title({ targets, incidents }: StatusView): string {
  const firing = incidents.filter((each) => each.state === "firing" && !each.muted).length;
  const down = targets.filter(({ state }) => state === "down").length;
  const troubles = [firing > 0 ? `${firing} firing` : "", down > 0 ? `${down} down` : ""];
  return [...troubles, "sandwatch"].filter((part) => part !== "").join(" · ");
}

function targetTable({ targets }: StatusView): Html {
  const rows = targets.map(
    (target) =>
      html`<tr>
        <td>${target.region}</td>
        <td>${target.key}</td>
        <td class="${toneOfTarget[target.state]}">${targetText(target)}</td>
        <td>${target.lastSuccessAtMs === null ? "never" : time(target.lastSuccessAtMs)}</td>
        ${joinHtml(statuses.map((status) => countCell(target, status)))}
      </tr> `,
  );
  const numbers = statuses.map((status) => ({ number: status }));
  return table(["region", "key", "state", "last success", ...numbers], rows);
}

const toneOfTarget: Readonly<Record<TargetView["state"], string>> = {
  up: "good",
  down: "bad",
  "not polled yet": "quiet",
};

function targetText({ state, reason, partial }: TargetView): string {
  if (state === "up" && partial !== null) return `up, partial: ${partial}`;
  return state === "down" && reason !== null ? `down: ${reason}` : state;
}

function countCell({ servers }: TargetView, status: keyof CountByStatus): Html {
  if (!servers) return html`<td class="number quiet">–</td>`;
  const alarming = status === "error" && servers.error > 0;
  return html`<td class="number ${alarming ? "bad" : ""}">${String(servers[status])}</td>`;
}

function incidentTable({ incidents }: StatusView): Html {
  if (incidents.length === 0) return html`<p class="quiet">None.</p>`;
  const rows = incidents.slice(0, mostIncidents).map(
    (incident) =>
      html`<tr>
        <td class="${toneOf(incident)}">${stateText(incident)}</td>
        <td>${incident.severity}</td>
        <td>${incident.rule}</td>
        <td>${incident.region ?? "–"}</td>
        <td>${incident.key ?? "–"}</td>
        <td>${incident.subject}</td>
        <td>${time(incident.startedAtMs)}</td>
        <td class="id">${incident.id}</td>
      </tr> `,
  );
  const heads = ["state", "severity", "rule", "region", "key", "subject", "since", "id"];
  return html`${table(heads, rows)}${moreThan(rows, incidents)}`;
}

/** A silenced incident is not shown in red. */
function toneOf({ state, muted }: IncidentView): string {
  if (muted) return "quiet";
  return state === "firing" ? "bad" : "";
}

function stateText({ state, notes }: IncidentView): string {
  return [state, ...notes].join(", ");
}

function silenceTable({ silences }: StatusView): Html {
  if (silences.length === 0) return html`<p class="quiet">None.</p>`;
  const rows = silences.slice(0, mostSilences).map(
    (silence) =>
      html`<tr>
        <td>${silence.match}</td>
        <td>${silence.by}</td>
        <td>${silence.reason ?? ""}</td>
        <td>${time(silence.endsAtMs)}</td>
      </tr> `,
  );
  return html`${table(["matches", "by", "reason", "until"], rows)}${moreThan(rows, silences)}`;
}

function receiverTable({ receivers }: StatusView): Html {
  if (receivers.length === 0) {
    return html`<p class="bad">None: nobody is notified.</p>`;
  }
  const rows = receivers.map(
    ({ receiver, pending, dead }) =>
      html`<tr>
        <td>${receiver}</td>
        <td class="number">${String(pending)}</td>
        <td class="number ${dead > 0 ? "bad" : ""}">${String(dead)}</td>
      </tr> `,
  );
  return table(["receiver", { number: "pending" }, { number: "dead" }], rows);
}
