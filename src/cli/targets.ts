import type { Command } from "commander";
import { listTargets, type TargetView } from "../api/operations/targets.ts";
import { statuses, targetName } from "../fleet/model.ts";
import { callsOperation, timesCommand } from "./api-command.ts";
import { labelHelp, wholeNumber } from "./options.ts";
import { listText } from "./output.ts";
import type { Cell, Columns } from "./table.ts";
import type { Terminal } from "./terminal.ts";

export function addTargets(program: Command, terminal: Terminal): void {
  timesCommand(program.command("targets"), "list targets: whether they are up, and their servers")
    .option("--region <names>", "only these regions, separated by commas")
    .option("--key <names>", "only these keys, separated by commas")
    .option("--label <labels>", labelHelp)
    .option("--limit <n>", "the largest number of entries", wholeNumber(1))
    .option("--cursor <cursor>", "continue after this cursor, which the previous page prints")
    .action(
      callsOperation(terminal, {
        operation: listTargets,
        request: (fields) => fields,
        text: ({ targets, next }, look) =>
          listText(targets, "There are no such targets.", next, columns, look, "--cursor"),
      }),
    );
}

/** Since when a target is down, and why. */
export const downColumns = {
  since: ({ up, down_since: at }, { timeText }) =>
    up === false && at === null ? "never up" : timeText(at),
  why: ({ last_failure_detail: detail, last_failure_reason: reason, partial }) =>
    detail ?? reason ?? partial,
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
