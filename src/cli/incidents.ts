import type { Command } from "commander";
import {
  acknowledgeIncident,
  acknowledgeIncidents,
  unacknowledgeIncident,
  unacknowledgeIncidents,
} from "../api/operations/acknowledgements.ts";
import {
  incidentNotes,
  incidentStates,
  listIncidents,
  type IncidentView,
} from "../api/operations/incidents.ts";
import { severities } from "../alerts/rule.ts";
import { counted } from "../fleet/plural.ts";
import { apiCommand, callsOperation } from "./api-command.ts";
import { wrongUse } from "./exit-codes.ts";
import { historyCommand, listsHistory } from "./list-history.ts";
import type { FollowTimes } from "./list-history.ts";
import { printableLine } from "../lib/printable.ts";
import { WordsOption } from "./options.ts";
import { severityCell } from "./cells.ts";
import type { Cell } from "./table.ts";
import type { Terminal } from "./terminal.ts";

/** Followed, an incident is printed each time that it changes. */
export function addIncidents(program: Command, terminal: Terminal, times?: FollowTimes): void {
  historyCommand(program.command("incidents"), "list incidents, latest first")
    .addOption(
      new WordsOption("--state <states>", "only these, separated by commas", incidentStates),
    )
    .option("--rule <names>", "only incidents of these rules, separated by commas")
    .addOption(new WordsOption("--severity <severities>", "only these severities", severities))
    .action(
      listsHistory(terminal, times, {
        operation: listIncidents,
        request: (fields) => fields,
        items: ({ incidents }) => incidents,
        nothing: "There are no such incidents.",
        columns: {
          id: "id",
          state: incidentStateCell,
          severity: ({ severity }) => severityCell(severity),
          rule: "rule",
          subject: incidentSubjectText,
          started: ({ started_at: at }, { timeText }) => timeText(at),
          resolved: ({ resolved_at: at }, { timeText }) => timeText(at),
        },
      }),
    );
}

export function addAck(program: Command, terminal: Terminal): void {
  const description =
    "acknowledge firing incidents: stops their reminders; you are still notified when they resolve";
  selectIncidents(apiCommand(program.command("ack"), description))
    .requiredOption("--author <name>", "your name")
    .option("--note <text>", "a note, shown with the acknowledgement")
    .option(
      "--for <duration>",
      "how long it lasts, such as 4h; reminders go on afterwards (default: until the incident resolves)",
    )
    .action(async function acknowledge(this: Command) {
      const { author, note, for: duration } = this.opts();
      const { id, selection } = selectionOf(this);
      const call =
        id === undefined
          ? callsOperation(terminal, {
              operation: acknowledgeIncidents,
              request: () => ({ ...selection, author, note, duration }),
              text: ({ matched, acknowledged, already }) =>
                `${counted(matched, "firing incident")} matched: ${acknowledged.length} acknowledged now, ${already.length} before\n`,
            })
          : callsOperation(terminal, {
              operation: acknowledgeIncident,
              request: () => ({ id, author, note, duration }),
              text: ({ incident_id, already, author: by, acknowledged_at: at, ends_at: end }) => {
                const until = end === null ? "" : ` until ${end}`;
                return already
                  ? `incident ${incident_id} was acknowledged by ${printableLine(by)} at ${at}${until}\n`
                  : `incident ${incident_id} is acknowledged${until}\n`;
              },
            });
      await call.call(this);
    });
}

export function addUnack(program: Command, terminal: Terminal): void {
  const description = "withdraw acknowledgements of firing incidents: their reminders go on";
  selectIncidents(apiCommand(program.command("unack"), description))
    .requiredOption("--author <name>", "your name")
    .action(async function withdraw(this: Command) {
      const { author } = this.opts();
      const { id, selection } = selectionOf(this);
      const call =
        id === undefined
          ? callsOperation(terminal, {
              operation: unacknowledgeIncidents,
              request: () => ({ ...selection, author }),
              text: ({ withdrawn }) =>
                `${counted(withdrawn.length, "acknowledgement")} withdrawn\n`,
            })
          : callsOperation(terminal, {
              operation: unacknowledgeIncident,
              request: () => ({ id, author }),
              text: ({ incident_id, author: by }) =>
                `the acknowledgement of incident ${incident_id} by ${printableLine(by)} is withdrawn\n`,
            });
      await call.call(this);
    });
}

/** Incidents by the id of one, or by what they are about. */
function selectIncidents(command: Command): Command {
  return command
    .argument("[incident]", "the id of an incident, or a prefix of it")
    .option("--rule <names>", "instead of an id: incidents of these rules, separated by commas")
    .option("--region <names>", "of these regions")
    .option("--key <names>", "of these keys")
    .option("--server <server>", "of this server: its id, a prefix of it, or its name")
    .option("--sandbox <sandbox>", "of this sandbox and its servers: its id, or a prefix of it")
    .option("--all", "every firing incident");
}

function selectionOf(command: Command) {
  const { rule, region, key, server, sandbox, all } = command.opts();
  const selection = { rule, region, key, server, sandbox, all };
  const [id] = command.args;
  const isSelected = Object.values(selection).some((value) => value !== undefined);
  if ((id === undefined) !== isSelected) {
    throw wrongUse(
      "Give the id of an incident, or --rule, --region, --key, --server, --sandbox or --all.",
    );
  }
  return { id, selection };
}

const stateColors = { pending: "yellow", firing: "red", resolved: "green" } as const;

export function incidentStateCell(incident: IncidentView): Cell {
  const { state, resolved_reason: reason } = incident;
  const how = reason === null || reason === "recovered" ? [] : [reason];
  const notes = state === "resolved" ? how : incidentNotes(incident);
  const text = notes.length === 0 ? state : `${state} (${notes.join(", ")})`;
  return { text, color: stateColors[state] };
}

/** Such as "us/research github 1a2b3c4d", "sandbox us/research 5e6f7a8b", "eu/production" and "region eu". */
export function incidentSubjectText(incident: IncidentView): string {
  const { subject, region, key, server_name: name, probe, receiver } = incident;
  const id = incident.server_id ?? incident.sandbox_id;
  const kind = subject === "server" || subject === "target" ? null : subject;
  const place = [region, key].filter((part) => part !== null).join("/");
  return [kind, place, name, id, probe, receiver].filter(Boolean).join(" ");
}
