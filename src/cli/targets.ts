import type { Command } from "commander";
import { listTargets, type TargetView } from "../api/operations/targets.ts";
import { statuses, targetName } from "../fleet/model.ts";
import { timesCommand } from "./api-command.ts";
import { lists } from "./list-history.ts";
import { pageOptions, placeOptions } from "./options.ts";
import type { Cell, Columns } from "./table.ts";
import type { Terminal } from "./terminal.ts";

export function addTargets(program: Command, terminal: Terminal): void {
  const command = program.command("targets");
  timesCommand(command, "list targets: whether they are up, and their servers");
  pageOptions(placeOptions(command)).action(
    lists(terminal, {
      operation: listTargets,
      request: (fields) => fields,
      items: ({ targets }) => targets,
      nothing: "There are no such targets.",
      columns,
      more: "--cursor",
    }),
  );
}

/** Since when a target is down, and why. */
export const downColumns = {
  since: ({ up, down_since: at }, { timeText }) =>
    up === false && at === null ? "never up" : timeText(at),
  why: ({ up, last_failure_detail: detail, last_failure_reason: reason, partial }) =>
    detail ?? reason ?? partial ?? (up === false ? "not stored, see the log" : null),
} satisfies Columns<TargetView>;

const columns: Columns<TargetView> = {
  target: targetName,
  state: stateCell,
  ...Object.fromEntries(
    statuses.map((status) => [
      status,
      ({ servers, stale }: TargetView) => (stale ? 0 : servers[status]),
    ]),
  ),
  unobserved: ({ servers, stale }) =>
    stale ? statuses.reduce((sum, status) => sum + servers[status], 0) : 0,
  ...downColumns,
};

function stateCell({ up, partial }: TargetView): Cell {
  if (up === null) return "not polled";
  if (!up) return { text: "down", color: "red" };
  return partial === null ? "up" : { text: "partial", color: "yellow" };
}
