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
import { counted } from "../fleet/text.ts";
import { apiCommand, callsOperation } from "./api-command.ts";
import { callOperation } from "./call-api.ts";
import { wrongUse } from "./exit-codes.ts";
import {
  groupIncidents,
  groupSubjectCell,
  idCell,
  incidentSubjectCell,
} from "./incident-groups.ts";
import {
  partIncidents,
  readIncidents,
  rowsText,
  startCell,
  unobservedText,
} from "./incident-groups.ts";
import type { IncidentGroup } from "./incident-groups.ts";
import { historyCommand, listsHistory } from "./list-history.ts";
import type { FollowTimes } from "./list-history.ts";
import { printableLine } from "../lib/printable.ts";
import { lookOf, type Look } from "./look.ts";
import { WordsOption } from "./options.ts";
import { listText, showNotes } from "./output.ts";
import { severityCell } from "./cells.ts";
import type { Cell, Columns } from "./table.ts";
import type { Terminal } from "./terminal.ts";

/** Followed, an incident is printed each time that it changes. */
export function addIncidents(program: Command, terminal: Terminal, times?: FollowTimes): void {
  historyCommand(program.command("incidents"), "list incidents, latest first")
    .addOption(
      new WordsOption("--state <states>", "only these, separated by commas", incidentStates),
    )
    .option("--rule <names>", "only incidents of these rules, separated by commas")
    .addOption(new WordsOption("--severity <severities>", "only these severities", severities))
    .option("--all", "list each incident, instead of one line for a cause")
    .action(async function list(this: Command) {
      const { all, json, follow, before } = this.opts();
      const isPlain = [all, json, follow, before].some((given) => given !== undefined);
      await (isPlain ? listEach : listCauses)(this, terminal, times);
    });
}

/** In the order of their starts, by pages. */
async function listEach(command: Command, terminal: Terminal, times?: FollowTimes): Promise<void> {
  const list = listsHistory(terminal, times, {
    operation: listIncidents,
    request: (fields) =>
      Object.fromEntries(Object.entries(fields).filter(([name]) => name !== "all")),
    items: ({ incidents }) => incidents,
    nothing,
    columns: incidentColumns,
  });
  await list.call(command);
}

/** All that are open, those of one cause as one line, and a page of those that were resolved. */
async function listCauses(command: Command, terminal: Terminal): Promise<void> {
  const { config, url, tokenFile, timestamps, state, limit, ...fields } = command.opts();
  const options = { config, url, tokenFile };
  const look = lookOf(terminal, timestamps);
  const wanted: readonly string[] = state === undefined ? incidentStates : state.split(",");
  const states = wanted.filter((each) => each !== "resolved").join(",");
  const none = { incidents: [], notes: [], next: null };
  const open =
    states === "" ? none : await readIncidents(options, terminal, { ...fields, state: states });
  const resolved = wanted.includes("resolved")
    ? await callOperation(options, terminal, listIncidents, {
        ...fields,
        limit: limit ?? (states === "" ? undefined : fewResolved),
        state: "resolved",
      })
    : none;
  const { observed, unobserved } = partIncidents(open.incidents);
  const lists = [
    rowsText(groupIncidents(observed, false, look), groupColumns, false, look),
    unobservedText(unobserved, groupColumns, false, look),
    resolved.incidents.length === 0
      ? ""
      : listText(resolved.incidents, "", resolved.next, incidentColumns, look, moreResolved),
  ];
  const text = lists.filter((list) => list !== "").join("\n");
  terminal.out(text === "" ? `${nothing}\n` : text);
  showNotes([...new Set([...open.notes, ...resolved.notes])], terminal);
}

const nothing = "There are no such incidents.";
/** What is open stays on the screen. */
const fewResolved = 10;
const moreResolved = "--state resolved --before";

const incidentColumns: Columns<IncidentView> = {
  id: "id",
  state: incidentStateCell,
  severity: ({ severity }) => severityCell(severity),
  rule: "rule",
  subject: incidentSubjectCell,
  started: ({ started_at: at }, { timeText }) => timeText(at),
  resolved: ({ resolved_at: at }, { timeText }) => timeText(at),
};

const groupColumns: Columns<IncidentGroup> = {
  id: idCell,
  state: ({ first, notes }) => stateCell(first.state, notes),
  severity: ({ first }) => severityCell(first.severity),
  rule: ({ first }) => first.rule,
  subject: groupSubjectCell,
  started: startCell,
};

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
              text({ incident_id, already, author: by, acknowledged_at: at, ends_at: end }, look) {
                const until = end === null ? "" : ` ${look.untilText(end)}`;
                return already
                  ? `incident ${incident_id} was acknowledged by ${printableLine(by)} ${look.timeText(at)}${until}\n`
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

function incidentStateCell(incident: IncidentView, { sinceText }: Look): Cell {
  const { state, resolved_reason: reason } = incident;
  const how = reason === null || reason === "recovered" ? [] : [reason];
  return stateCell(state, state === "resolved" ? how : incidentNotes(incident, true, sinceText));
}

function stateCell(state: IncidentView["state"], notes: readonly string[]): Cell {
  const text = notes.length === 0 ? state : `${state} (${notes.join(", ")})`;
  return { text, color: stateColors[state] };
}
