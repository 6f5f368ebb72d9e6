import { incidentState, incidentStates, type Incident } from "../alerts/incident.ts";
import { receiverRule } from "../alerts/judge-receivers.ts";
import type { Severity } from "../alerts/rule.ts";
import type { WatchedView } from "../alerts/target-view.ts";
import type { GaugeFamily, Series } from "./gauge-family.ts";

export interface IncidentGaugeOptions {
  readonly targets: readonly Pick<WatchedView, "state">[];
  /** Each rule has series, also without incidents. */
  readonly rules: readonly { readonly name: string; readonly severity: Severity }[];
  /** The open incidents of pools, probes and receivers. */
  readonly readIncidentsWithoutTarget: () => Promise<readonly Incident[]>;
  /** What suppresses notifications at the time of the scrape. */
  readonly readSuppressions: () => SuppressionView;
}

export interface SuppressionView {
  readonly acknowledgedBy: ReadonlyMap<string, string>;
  /** How many silences are in force, and how many are to come. */
  readonly silences: { readonly active: number; readonly pending: number };
  readonly windows: readonly { readonly name: string; readonly isOpen: boolean }[];
}

/** Open incidents, and what suppresses their notifications. */
export function incidentGauges(options: IncidentGaugeOptions): readonly GaugeFamily[] {
  return [incidentGauge(options), ...suppressionGauges(options)];
}

function incidentGauge(options: IncidentGaugeOptions): GaugeFamily {
  const { targets, rules, readIncidentsWithoutTarget, readSuppressions } = options;
  const read = async (): Promise<Series> => {
    const { acknowledgedBy } = readSuppressions();
    const counted: { rule: string; severity: Severity; state: string; count: number }[] = [];
    // There can be many thousands, most of them like the one before.
    let last: (typeof counted)[number] | undefined;
    const add = (rule: string, severity: Severity, state: string, more: number): void => {
      const isSame = (each: typeof last): boolean =>
        each?.rule === rule && each.severity === severity && each.state === state;
      if (!isSame(last)) last = counted.find(isSame);
      if (!last) counted.push((last = { rule, severity, state, count: 0 }));
      last.count += more;
    };
    for (const { name, severity } of [...rules, receiverRule]) {
      for (const state of incidentStates) add(name, severity, state, 0);
    }
    const addIncident = (incident: Incident): void =>
      add(incident.rule, incident.severity, incidentState(incident, acknowledgedBy), 1);
    // First the targets, without an await before, so that they show the moment when the scrape begins.
    for (const { state } of targets) state.incidents.forEach(addIncident);
    (await readIncidentsWithoutTarget()).forEach(addIncident);
    return counted.map(({ count, ...labels }) => [labels, count]);
  };
  const help = "Open incidents of a rule, each in one state; all but the pending ones fire.";
  return { name: "sandwatch_incidents", help, labels: ["rule", "severity", "state"], read };
}

function suppressionGauges({ readSuppressions }: IncidentGaugeOptions): readonly GaugeFamily[] {
  return [
    {
      name: "sandwatch_silences",
      help: "Silences in force, and those to come.",
      labels: ["state"],
      read() {
        const { active, pending } = readSuppressions().silences;
        return [
          [{ state: "active" }, active],
          [{ state: "pending" }, pending],
        ];
      },
    },
    {
      name: "sandwatch_maintenance_active",
      help: "Whether a maintenance window is open.",
      labels: ["name"],
      read: () => readSuppressions().windows.map(({ name, isOpen }) => [{ name }, Number(isOpen)]),
    },
  ];
}
