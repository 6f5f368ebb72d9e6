import { probeState, type ProbeView } from "../../alerts/probe.ts";
import { matchText, type SilenceMatch } from "../../alerts/silence.ts";
import type { ProcessView } from "../../api/operations/status.ts";
import { shortText } from "./fleet-list.ts";
import { ageOf, html, numberOf, table, type Column, type Html } from "../html.ts";

/** Times are UTC milliseconds. */
export interface QuietView {
  /** Silences and maintenance windows in force. */
  readonly silences: readonly {
    /** Null: it is a window. */
    readonly id: string | null;
    readonly match: SilenceMatch;
    readonly by: string;
    readonly reason: string | null;
    readonly endsAtMs: number;
  }[];
  /** The names of the configured receivers. */
  readonly receivers: readonly string[];
  /** What waits for receivers; those without may be absent. */
  readonly waiting: readonly {
    readonly receiver: string;
    readonly pending: number;
    readonly dead: number;
  }[];
  /** Those on PostgreSQL, the active one first. */
  readonly processes: readonly ProcessView[];
}

/** Further rows are only counted. */
const mostRows = 20;

interface NamedProbes {
  readonly name: string;
  readonly probes: readonly ProbeView[];
  readonly failing: readonly ProbeView[];
}

export function isFailing({ progress }: ProbeView): boolean {
  return probeState(progress) === "failing";
}

/** A line for each name of a probe: it runs in each of its targets. */
export function probesCard(all: readonly ProbeView[], nowMs: number): Html {
  const named = Array.from(
    Map.groupBy(all, ({ subject }) => subject.probe),
    ([name, probes]): NamedProbes => ({ name, probes, failing: probes.filter(isFailing) }),
  );
  return html`<section class="card" id="probes" data-live aria-labelledby="probes-title">
    <h2 id="probes-title">Probes</h2>
    ${table(
      named.toSorted((a, b) => b.failing.length - a.failing.length),
      probeColumns(nowMs),
      { most: mostRows },
    )}
  </section>`;
}

const probeColumns = (nowMs: number): readonly Column<NamedProbes>[] => [
  { head: "Probe", cell: ({ name }) => name },
  {
    head: "State",
    cell: probesText,
    tone: ({ probes, failing }) =>
      failing.length > 0 ? "bad" : probes.some(({ progress }) => progress.last) ? "good" : "quiet",
  },
  {
    head: "Last run",
    cell({ probes }) {
      const last = Math.max(...probes.map(({ progress }) => progress.last?.atMs ?? 0));
      return last === 0 ? "never" : html`${ageOf(last, nowMs)} ago`;
    },
    tone: "age",
  },
];

/** Such as "2 of 4 failing", with where and why. */
function probesText({ probes, failing }: NamedProbes): string | Html {
  const [first] = failing;
  if (!first) return probes.some(({ progress }) => progress.last) ? "ok" : "not run yet";
  const { region, key } = first.subject;
  const why = first.progress.last?.detail ?? first.progress.last?.reason ?? "";
  const where = failing.length === 1 ? `${region}/${key}: ` : "";
  const count = probes.length === 1 ? "failing" : `${failing.length} of ${probes.length} failing`;
  return html`${count} <small>${where}${why}</small>`;
}

/** Which process is active on PostgreSQL, and which stand by. */
export function processesLine(processes: readonly ProcessView[], nowMs: number): Html {
  const parts = processes.map(({ address, active, since, last_seen: seen, live }) => {
    const name = address ?? "a process without an address";
    const ended = live ? "" : html`, last seen ${ageOf(Date.parse(seen), nowMs)} ago`;
    return html`${name} ${active ? "is active" : "stands by"} since
    ${ageOf(Date.parse(since), nowMs)}${ended}. `;
  });
  return html`<p id="processes" class="quiet" data-live>${parts}</p>`;
}

export function silencesCard({ silences }: QuietView, nowMs: number): Html {
  return html`<section class="card" id="silences" data-live aria-labelledby="silences-title">
    <h2 id="silences-title">Active silences</h2>
    ${silences.length === 0 ? html`<p class="quiet">None.</p>` : table(silences, silenceColumns(nowMs), { most: mostRows })}
  </section>`;
}

/** The page of a silence has the whole of it. */
const longestMatch = 120;

const silenceColumns = (nowMs: number): readonly Column<QuietView["silences"][number]>[] => [
  {
    head: "Matches",
    cell: ({ match, reason }) =>
      html`${shortText(matchText(match), longestMatch)}
        <small>${shortText(reason ?? "", longestMatch)}</small>`,
  },
  { head: "By", cell: ({ by }) => shortText(by) },
  { head: "Ends in", cell: ({ endsAtMs }) => ageOf(endsAtMs, nowMs), tone: "age" },
  {
    head: "Change",
    cell: ({ id }) => (id === null ? "" : html`<a href="silences/${id}">end or change</a>`),
    tone: "words",
  },
];

export function receiversCard({ receivers, waiting }: QuietView): Html {
  const queues = receivers.map(
    (receiver) =>
      waiting.find((each) => each.receiver === receiver) ?? { receiver, pending: 0, dead: 0 },
  );
  return html`<section class="card" id="receivers" data-live aria-labelledby="receivers-title">
    <h2 id="receivers-title">Receivers</h2>
    ${
      queues.length === 0
        ? html`<p class="bad">None: nobody is notified.</p>`
        : table(
            queues.toSorted((a, b) => b.dead - a.dead || b.pending - a.pending),
            receiverColumns,
            { most: Math.min(mostRows, Math.max(mostQuiet, queues.filter(isWaited).length)) },
          )
    }
  </section>`;
}

/** Receivers for which nothing waits are counted after these. */
const mostQuiet = 5;

const isWaited = ({ pending, dead }: QuietView["waiting"][number]): boolean => pending + dead > 0;

const receiverColumns: readonly Column<QuietView["waiting"][number]>[] = [
  {
    head: "Receiver",
    cell: ({ receiver }) => html`<span title="${receiver}">${shortText(receiver)}</span>`,
  },
  { head: "Waiting", isNumber: true, cell: ({ pending }) => numberOf(pending) },
  {
    head: "Dead",
    isNumber: true,
    cell: ({ dead }) => numberOf(dead),
    tone: ({ dead }) => (dead > 0 ? "bad" : ""),
  },
];
