import type { Command } from "commander";
import type { IncidentView } from "../api/operations/incidents.ts";
import { showStatus, type ProcessView } from "../api/operations/status.ts";
import { listTargets, type TargetView } from "../api/operations/targets.ts";
import { severities } from "../alerts/rule.ts";
import { statuses, targetName } from "../fleet/model.ts";
import { counted } from "../fleet/text.ts";
import { noneByStatus } from "../fleet/tallies.ts";
import { timesCommand } from "./api-command.ts";
import { severityCell } from "./cells.ts";
import { lookOf, type Look } from "./look.ts";
import { callOperation, type ApiOptions } from "./call-api.ts";
import { groupIncidents, groupSubjectCell, idCell, isQuiet } from "./incident-groups.ts";
import { partIncidents, readIncidents } from "./incident-groups.ts";
import { rowsText, startCell, unobservedText, type IncidentGroup } from "./incident-groups.ts";
import { show } from "./output.ts";
import { wrapText, type Columns } from "./table.ts";
import { downColumns } from "./targets.ts";
import { labelHelp } from "./options.ts";
import type { Terminal } from "./terminal.ts";

export function addStatus(program: Command, terminal: Terminal): void {
  timesCommand(
    program.command("status"),
    "show what is wrong, and how many sandboxes and servers are in which status",
  )
    .option("--label <labels>", labelHelp)
    .option("--all", "list each incident and target that is down, instead of one line for a cause")
    .action(async ({ timestamps, all = false, label, ...options }) => {
      const view = await readStatus(options, label, terminal);
      show(view, options, terminal, (each) => statusText(each, all, lookOf(terminal, timestamps)));
    });
}

interface StatusView {
  readonly targets: readonly TargetView[];
  /** That fire, worst first. */
  readonly incidents: readonly IncidentView[];
  /** On PostgreSQL, the active one first. */
  readonly processes: readonly ProcessView[];
}

async function readStatus(
  options: ApiOptions,
  label: string | undefined,
  terminal: Terminal,
): Promise<StatusView> {
  const targets: TargetView[] = [];
  for (let cursor: string | null | undefined; cursor !== null;) {
    const page = await callOperation(options, terminal, listTargets, {
      label,
      limit: 1_000,
      cursor,
    });
    targets.push(...page.targets);
    cursor = page.next;
  }
  const { incidents } = await readIncidents(options, terminal, { state: "firing", label });
  const { processes } = await callOperation(options, terminal, showStatus, {});
  const worstFirst = incidents.toSorted((a, b) => urgencyOf(a) - urgencyOf(b));
  return { targets, incidents: worstFirst, processes };
}

/** What concerns more comes first, and what somebody takes care of comes last. */
function urgencyOf(incident: IncidentView): number {
  const { severity, acknowledged_by: author, subject } = incident;
  const ranks = [
    Number(isQuiet(incident)),
    Number(!incident.holds),
    severities.findIndex((each) => each === severity),
    Number(author !== null),
    Number(subject !== "region") + Number(subject === "server"),
  ];
  return ranks.reduce((sum, rank) => sum * 10 + rank, 0);
}

export function statusText(
  { targets, incidents, processes }: StatusView,
  isWhole: boolean,
  look: Look,
): string {
  const down = targets.filter(({ up }) => up === false);
  const counts = countAll(targets);
  const { observed, unobserved } = partIncidents(incidents);
  const sections = [
    [summaryText({ targets, incidents, processes }, down, counts, look), ...countLines(counts), ""]
      .map((line) => wrapText(line, look.width))
      .join("\n"),
    rowsText(down, targetColumns, isWhole, look),
    rowsText(groupIncidents(observed, isWhole, look), incidentColumns, isWhole, look),
    unobservedText(unobserved, incidentColumns, isWhole, look),
    processes.map((each) => `${processText(each, look)}\n`).join(""),
  ];
  return sections.filter((section) => section !== "").join("\n");
}

/** One sentence on whether anything is wrong, and then what else is to be known. */
function summaryText(
  { targets, incidents, processes }: StatusView,
  down: readonly TargetView[],
  { sandboxes, servers }: FleetCounts,
  look: Look,
): string {
  const quiet = incidents.filter(isQuiet).length;
  const { unobserved, observed: others } = partIncidents(incidents);
  const observed = others.filter((each) => !isQuiet(each));
  const recovering = observed.filter((each) => !each.holds).length;
  const firing = observed.length - recovering;
  const unpolled = targets.filter(({ up }) => up === null).length;
  const all = counted(targets.length, "target");
  // On PostgreSQL another process than that of this configuration may be active, and the store does not say what is up.
  const poller = processes.find(({ active, live }) => active && live)?.address;
  const unpolledText = poller
    ? `Only ${poller}, which is active, knows whether ${unpolled} of ${all} ${unpolled === 1 ? "is" : "are"} up.`
    : `${unpolled} of ${all} not polled at present.`;
  const wrong = [
    firing > 0 && `${counted(firing, "incident is", "incidents are")} firing`,
    down.length > 0 && `${down.length} of ${all} ${down.length === 1 ? "is" : "are"} down`,
  ].filter((each) => each !== false);
  const lastPoll = targets.reduce<string>((last, { last_poll_at: at }) => {
    return at !== null && at > last ? at : last;
  }, "");
  const recoveringText = `${counted(recovering, "incident is", "incidents are")} flapping or recovering, well now.`;
  const isCalm = wrong.length === 0 && sandboxes.error + servers.error === 0;
  const rest = [
    recovering > 0 && !isCalm && recoveringText,
    unobserved.length > 0 &&
      `${counted(unobserved.length, "incident is", "incidents are")} not observed at present.`,
    quiet > 0 && `${counted(quiet, "incident is", "incidents are")} silenced or inhibited.`,
    unpolled > 0 && unpolledText,
    lastPoll !== "" && `Last poll: ${look.timeText(lastPoll)}.`,
  ].filter((each) => each !== false);
  const erring = [
    sandboxes.error > 0 && counted(sandboxes.error, "sandbox", "sandboxes"),
    servers.error > 0 && counted(servers.error, "server"),
  ].filter((each) => each !== false);
  const isOne = sandboxes.error + servers.error === 1;
  const first =
    wrong.length > 0
      ? look.paint("red", `${wrong.join(", and ")}.`)
      : erring.length > 0
        ? look.paint(
            "yellow",
            `No incident is firing, but ${erring.join(" and ")} ${isOne ? "is" : "are"} in error.`,
          )
        : recovering > 0
          ? look.paint("yellow", recoveringText)
          : unpolled === 0 && look.paint("green", `All is well: no incident is firing, ${all} up.`);
  return [first, ...rest].filter((each) => each !== false).join(" ");
}

/** "https://a.example.com is active for 3 h, last seen 2 s ago". */
function processText(
  { address, active, since, last_seen: seen, live }: ProcessView,
  { timeText, sinceText, paint }: Look,
): string {
  const name = address ?? "a process without cluster.address";
  const text = `${name} ${active ? "is active" : "stands by"} ${sinceText(since)}, last seen ${timeText(seen)}`;
  return live ? text : paint("yellow", text);
}

const targetColumns: Columns<TargetView> = {
  down: (target) => ({ text: targetName(target), color: "red" }),
  failed: ({ failures_in_a_row: count }) => counted(count, "poll"),
  ...downColumns,
};

const incidentColumns: Columns<IncidentGroup> = {
  severity: ({ first }) => severityCell(first.severity),
  rule: ({ first }) => first.rule,
  since: startCell,
  id: idCell,
  subject: groupSubjectCell,
  notes: ({ notes }) => notes.join(", "),
};

const shown = [...statuses, "unobserved"] as const;
type Counts = Readonly<Record<(typeof shown)[number], number>>;
type FleetCounts = Readonly<Record<"sandboxes" | "servers", Counts>>;

/** Those of stale targets are unobserved. */
function countAll(targets: readonly TargetView[]): FleetCounts {
  const sum = (kind: keyof FleetCounts): Counts => {
    const counts = { ...noneByStatus, unobserved: 0 };
    for (const target of targets) {
      for (const status of statuses) {
        counts[target.stale ? "unobserved" : status] += target[kind][status];
      }
    }
    return counts;
  };
  return { sandboxes: sum("sandboxes"), servers: sum("servers") };
}

/** "servers: 12 idle, 5 occupied, 1 error, 0 unknown, 36 unobserved", and so for sandboxes. */
function countLines({ sandboxes, servers }: FleetCounts): readonly string[] {
  const text = (counts: Counts) => shown.map((status) => `${counts[status]} ${status}`).join(", ");
  return [`sandboxes: ${text(sandboxes)}`, `servers: ${text(servers)}`];
}
