import type { Command, Option } from "commander";
import { listChanges } from "../api/operations/changes.ts";
import { statuses } from "../fleet/model.ts";
import { formatDuration } from "../fleet/text.ts";
import { historyCommand, listsHistory } from "./list-history.ts";
import type { FollowTimes } from "./list-history.ts";
import { changeSubjects } from "../store/changes.ts";
import { WordsOption } from "./options.ts";
import { statusCell } from "./cells.ts";
import type { Terminal } from "./terminal.ts";

export function addChanges(program: Command, terminal: Terminal, times?: FollowTimes): void {
  historyCommand(program.command("changes"), "list changes of sandboxes and servers, latest first")
    .addOption(
      new WordsOption("--subject <subjects>", "only changes of these, separated by commas", [
        ...changeSubjects,
      ]),
    )
    .addOption(statusOption("--status", "only changes from or to these, separated by commas"))
    .addOption(statusOption("--from-status", "only changes from these"))
    .addOption(statusOption("--to-status", "only changes to these"))
    .option("--lapses", "also list when they were missing from a listing and were listed again")
    .action(
      listsHistory(terminal, times, {
        operation: listChanges,
        request: ({ fromStatus, toStatus, ...fields }) => ({
          ...fields,
          from_status: fromStatus,
          to_status: toStatus,
        }),
        items: ({ changes }) => changes,
        nothing: "There are no such changes.",
        columns: {
          at: ({ at }, { timeText }) => timeText(at),
          region: "region",
          key: "key",
          sandbox: "sandbox_id",
          server: ({ server_id: id }) => id ?? "(sandbox)",
          name: "server_name",
          from: ({ from }) => statusCell(from),
          to: ({ to, lapse }) => (lapse === null ? statusCell(to) : observations[lapse]),
          stayed: ({ stay_seconds: seconds }) =>
            seconds === null ? "" : formatDuration(Math.round(seconds) * 1_000),
        },
      }),
    );
}

function statusOption(name: string, description: string): Option {
  return new WordsOption(`${name} <statuses>`, description, [...statuses, "absent"]);
}

const observations = {
  missing: "(missing)",
  seen: "(seen again)",
  updated: "(updated)",
} as const;
