import { poolText, serverText, subjectFacts } from "../../alerts/incident.ts";
import type { Incident, Subject } from "../../alerts/incident.ts";
import { probeState, type ProbeView } from "../../alerts/probe.ts";
import { severities } from "../../alerts/rule.ts";
import { matchText, type SilenceMatch } from "../../alerts/silence.ts";
import type { WatchedView } from "../../alerts/target-view.ts";
import { statuses, type Target } from "../../fleet/model.ts";
import { html, table, timeOf, type Column, type Html } from "../html.ts";
import { page, type PageAt } from "./layout.ts";

/** What the status page shows. Times are UTC milliseconds. */
export interface StatusView {
  readonly targets: readonly WatchedView[];
  readonly probes: readonly ProbeView[];
  /** The open incidents that belong to no target. */
  readonly incidentsWithoutTarget: readonly Incident[];
  /** Silences and maintenance windows in force. */
  readonly silences: readonly {
    readonly match: SilenceMatch;
    readonly by: string;
    readonly reason: string | null;
    readonly endsAtMs: number;
  }[];
  /** Who acknowledged an open incident, by its id. */
  readonly acknowledgedBy: ReadonlyMap<string, string>;
  /** The names of the configured receivers. */
  readonly receivers: readonly string[];
  /** What waits for receivers; those without may be absent. */
  readonly waiting: readonly {
    readonly receiver: string;
    readonly pending: number;
    readonly dead: number;
  }[];
}

/** Further incidents, silences and probes are only counted. */
const mostRows = 200;

/** The page that a person opens first. */
export function renderStatusPage(view: StatusView, at: PageAt): string {
  const { targets, silences, receivers, waiting } = view;
  const incidents = openIncidents(view);
  const probes = view.probes.toSorted((a, b) => Number(isFailing(b)) - Number(isFailing(a)));
  const queues = receivers.map(
    (receiver) =>
      waiting.find((each) => each.receiver === receiver) ?? { receiver, pending: 0, dead: 0 },
  );
  const none = html`<p class="quiet">None.</p>`;
  const body = html`<div class="card" id="overview" data-live>
    <h2>Targets</h2>
    ${table(targets, targetColumns)}
    ${probes.length > 0 ? [html`<h2>Probes</h2>`, table(probes, probeColumns, mostRows)] : ""}
    <h2>Open incidents</h2>
    ${incidents.length === 0 ? none : table(incidents, incidentColumns, mostRows)}
    <h2>Active silences</h2>
    ${silences.length === 0 ? none : table(silences, silenceColumns, mostRows)}
    <h2>Receivers</h2>
    ${
      queues.length === 0
        ? html`<p class="bad">None: nobody is notified.</p>`
        : table(queues, receiverColumns)
    }
  </div>`;
  return page({ title: title(targets, incidents), section: "Overview", ...at }, body);
}

/** A browser tab shows the counts. */
function title(targets: readonly WatchedView[], incidents: readonly OpenIncident[]): string {
  const firing = incidents.filter(({ phase, isQuiet }) => phase.name === "firing" && !isQuiet);
  const down = targets.filter(({ polled, up }) => polled && !up);
  return [
    ...(firing.length > 0 ? [`${firing.length} firing`] : []),
    ...(down.length > 0 ? [`${down.length} down`] : []),
  ].join(" · ");
}

const targetColumns: readonly Column<WatchedView>[] = [
  { head: "region", cell: ({ target }) => target.region },
  { head: "key", cell: ({ target }) => target.key },
  {
    head: "state",
    cell: targetText,
    tone: ({ polled, up }) => (polled ? (up ? "good" : "bad") : "quiet"),
  },
  { head: "last success", cell: ({ state }) => timeOrNever(state.progress.lastSuccessAtMs) },
  ...statuses.map((status): Column<WatchedView> => ({
    head: status,
    isNumber: true,
    cell: (view) => (showsServers(view) ? view.state.snapshot.tallies.servers[status] : "–"),
    tone(view) {
      if (!showsServers(view)) return "quiet";
      return status === "error" && view.state.snapshot.tallies.servers.error > 0 ? "bad" : "";
    },
  })),
];

function showsServers({ withheld, state }: WatchedView): boolean {
  return !withheld && state.progress.lastSuccessAtMs !== null;
}

function targetText({ polled, up, detail, state }: WatchedView): string {
  if (!polled) return "not polled yet";
  if (up) return detail ? `up, partial: ${detail.text}` : "up";
  const { lastFailure } = state.progress;
  if (lastFailure === null) return "down: not stored, see the log";
  return `down: ${lastFailure}${detail ? `, ${detail.text}` : ""}`;
}

const probeColumns: readonly Column<ProbeView>[] = [
  { head: "probe", cell: ({ subject }) => subject.probe },
  { head: "region", cell: ({ subject }) => subject.region },
  { head: "key", cell: ({ subject }) => subject.key },
  { head: "operation", cell: ({ operation }) => operation },
  {
    head: "state",
    cell: probeText,
    tone: ({ progress }) =>
      ({ ok: "good", failing: "bad", not_run: "quiet" })[probeState(progress)],
  },
  { head: "last run", cell: ({ progress }) => timeOrNever(progress.last?.atMs ?? null) },
  { head: "last success", cell: ({ progress }) => timeOrNever(progress.lastSuccessAtMs) },
];

function isFailing({ progress }: ProbeView): boolean {
  return probeState(progress) === "failing";
}

function probeText({ progress }: ProbeView): string {
  const state = probeState(progress);
  if (state === "not_run") return "not run yet";
  const failure = progress.last?.detail ?? progress.last?.reason ?? null;
  return state === "failing" && failure !== null ? `failing: ${failure}` : state;
}

interface OpenIncident extends Incident {
  /** Null: it lies in none. */
  readonly region: string | null;
  readonly key: string | null;
  /** Whether nobody is notified of it: it is silenced or inhibited. */
  readonly isQuiet: boolean;
  readonly acknowledgedBy: string | null;
}

/** Notified incidents come before silenced and pending ones, and higher severities before lower ones. */
function openIncidents({
  targets,
  incidentsWithoutTarget,
  acknowledgedBy,
}: StatusView): readonly OpenIncident[] {
  const open = (target: Target | null, incident: Incident): OpenIncident => {
    const { id, phase, subject } = incident;
    const isQuiet = phase.name === "firing" && phase.notifiedAtMs === null;
    const { region, key } = subjectFacts(target, subject);
    return { ...incident, region, key, isQuiet, acknowledgedBy: acknowledgedBy.get(id) ?? null };
  };
  const urgencyOf = ({ phase, isQuiet, severity }: OpenIncident): number => {
    const rank = phase.name !== "firing" ? 0 : isQuiet ? 1 : 2;
    return rank * severities.length - severities.indexOf(severity);
  };
  return [
    ...targets.flatMap(({ target, state }) =>
      Array.from(state.incidents.values(), (incident) => open(target, incident)),
    ),
    ...incidentsWithoutTarget.map((incident) => open(null, incident)),
  ].toSorted((a, b) => urgencyOf(b) - urgencyOf(a) || b.startedAtMs - a.startedAtMs);
}

const incidentColumns: readonly Column<OpenIncident>[] = [
  {
    head: "state",
    cell: ({ phase, isQuiet, inhibitedBy, acknowledgedBy }) =>
      [
        phase.name,
        ...(inhibitedBy === null ? [] : [`inhibited by ${inhibitedBy}`]),
        ...(isQuiet && inhibitedBy === null ? ["silenced"] : []),
        ...(phase.name === "firing" && phase.flapping ? ["flapping"] : []),
        ...(acknowledgedBy === null ? [] : [`acknowledged by ${acknowledgedBy}`]),
      ].join(", "),
    tone: ({ phase, isQuiet }) => (isQuiet ? "quiet" : phase.name === "firing" ? "bad" : ""),
  },
  { head: "severity", cell: ({ severity }) => severity },
  { head: "rule", cell: ({ rule }) => rule },
  { head: "region", cell: ({ region }) => region ?? "–" },
  { head: "key", cell: ({ key }) => key ?? "–" },
  { head: "subject", cell: ({ subject }) => subjectText(subject) },
  { head: "since", cell: ({ startedAtMs }) => timeOf(startedAtMs) },
  {
    head: "id",
    cell: ({ id }) => html`<a href="incidents/${id}">${id}</a>`,
    tone: () => "id",
  },
];

function subjectText(subject: Subject): string {
  switch (subject.kind) {
    case "server":
      return serverText(subject);
    case "target":
      return "the target itself";
    case "region":
      return "the whole region";
    case "pool":
      return poolText(subject);
    case "probe":
      return `probe ${subject.probe}`;
    case "receiver":
      return `receiver ${subject.receiver}`;
  }
}

const silenceColumns: readonly Column<StatusView["silences"][number]>[] = [
  { head: "matches", cell: ({ match }) => matchText(match) },
  { head: "by", cell: ({ by }) => by },
  { head: "reason", cell: ({ reason }) => reason ?? "" },
  { head: "until", cell: ({ endsAtMs }) => timeOf(endsAtMs) },
];

const receiverColumns: readonly Column<StatusView["waiting"][number]>[] = [
  { head: "receiver", cell: ({ receiver }) => receiver },
  { head: "pending", isNumber: true, cell: ({ pending }) => pending },
  {
    head: "dead",
    isNumber: true,
    cell: ({ dead }) => dead,
    tone: ({ dead }) => (dead > 0 ? "bad" : ""),
  },
];

function timeOrNever(utcMs: number | null): Html | string {
  return utcMs === null ? "never" : timeOf(utcMs);
}
