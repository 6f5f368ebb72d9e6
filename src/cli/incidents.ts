import type { Command } from "commander";
import { acknowledgeIncident, listIncidents } from "../api/operations/incidents.ts";
import type { IncidentView } from "../api/operations/incidents.ts";
import { apiCommand, callsOperation } from "./api-command.ts";
import { historyCommand, listsHistory } from "./list-history.ts";
import type { FollowTimes } from "./list-history.ts";
import { printable } from "./table.ts";
import type { Terminal } from "./terminal.ts";

/** Followed, an incident is printed each time that it changes. */
export function addIncidents(program: Command, terminal: Terminal, times?: FollowTimes): void {
  historyCommand(program.command("incidents"), "list incidents, latest first")
    .option("--state <states>", "only these states, separated by commas: pending, firing, resolved")
    .option("--rule <names>", "only incidents of these rules, separated by commas")
    .option("--severity <severities>", "only these severities: critical, warning, info")
    .action(
      listsHistory(terminal, times, {
        operation: listIncidents,
        request: (fields) => fields,
        items: ({ incidents }) => incidents,
        nothing: "There are no such incidents.",
        columns: {
          id: "id",
          state: stateText,
          severity: "severity",
          rule: "rule",
          region: "region",
          key: "key",
          subject: subjectText,
          started: "started_at",
          resolved: "resolved_at",
        },
      }),
    );
}

export function addAck(program: Command, terminal: Terminal): void {
  const description =
    "acknowledge a firing incident: stops its reminders; you are still notified when it resolves";
  apiCommand(program.command("ack"), description)
    .argument("<incident>", "the id of the incident, or a prefix of it")
    .requiredOption("--author <name>", "your name")
    .option("--note <text>", "a note, shown with the acknowledgement")
    .action(
      callsOperation(terminal, {
        operation: acknowledgeIncident,
        request: ({ author, note }, id) => ({ id, author, note }),
        text: ({ incident_id: id, already, author, acknowledged_at: at }) =>
          already
            ? `incident ${id} was acknowledged by ${printable(author)} at ${at}\n`
            : `incident ${id} is acknowledged\n`,
      }),
    );
}

function stateText(incident: IncidentView): string {
  const { state, muted, flapping, resolved_reason: reason, acknowledged_by: author } = incident;
  if (state === "resolved") return `resolved (${reason ?? "recovered"})`;
  const notes = [
    muted && "silenced",
    flapping && "flapping",
    author && `acknowledged by ${author}`,
  ].filter(Boolean);
  return notes.length === 0 ? state : `${state} (${notes.join(", ")})`;
}

function subjectText(incident: IncidentView): string {
  const { subject, server_id: id, server_name: name, receiver, probe } = incident;
  if (subject === "server") return [name, id].filter(Boolean).join(" ");
  return [subject, name, probe, receiver].filter(Boolean).join(" ");
}
