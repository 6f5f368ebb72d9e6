import type { Command } from "commander";
import { listChanges } from "../api/operations/changes.ts";
import type { ChangeView } from "../api/operations/changes.ts";
import { formatDuration } from "../fleet/duration.ts";
import { historyFields, historyOptions, showHistory } from "./history.ts";
import type { FollowTimes, HistoryOptions } from "./history.ts";
import type { Terminal } from "./terminal.ts";

export interface ChangesOptions extends HistoryOptions {
  readonly status?: string;
  readonly fromStatus?: string;
  readonly toStatus?: string;
  readonly lapses?: boolean;
}

export function addChanges(program: Command, terminal: Terminal): void {
  historyOptions(program.command("changes"))
    .description("list changes of servers, latest first")
    .option(
      "--status <statuses>",
      "only changes from or to these statuses: idle, occupied, error, unknown, absent",
    )
    .option("--from-status <statuses>", "only changes from these statuses, separated by commas")
    .option("--to-status <statuses>", "only changes to these statuses, separated by commas")
    .option("--lapses", "also list when servers were missing from a listing and were listed again")
    .action((options: ChangesOptions) => changes(options, terminal));
}

export async function changes(
  options: ChangesOptions,
  terminal: Terminal,
  times?: FollowTimes,
): Promise<void> {
  const { status, fromStatus: from_status, toStatus: to_status, lapses } = options;
  const fields = { ...historyFields(options), status, from_status, to_status, lapses };
  const list = {
    operation: listChanges,
    requestOf: (range: object) => ({ ...fields, ...range }),
    itemsOf: (view: { readonly changes: readonly ChangeView[] }) => view.changes,
    header: ["at", "region", "key", "sandbox", "server", "name", "from", "to", "stayed"],
    cellsOf,
    nothing: "No stored change fits.\n",
  };
  await showHistory(options, terminal, list, times);
}

const observationTexts = { missing: "(missing)", seen: "(seen again)" } as const;

function cellsOf(change: ChangeView): readonly string[] {
  return [
    change.at,
    change.region,
    change.key,
    change.sandbox_id,
    change.server_id,
    change.server_name ?? "",
    change.from,
    change.lapse === null ? change.to : observationTexts[change.lapse],
    change.stay_seconds === null ? "" : formatDuration(Math.round(change.stay_seconds) * 1_000),
  ];
}
