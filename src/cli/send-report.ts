import type { Command } from "commander";
import { sendReport } from "../api/operations/reports.ts";
import { apiCommand, callsOperation } from "./api-command.ts";
import { linesText } from "./output.ts";
import type { Terminal } from "./terminal.ts";

export function addSendReport(program: Command, terminal: Terminal): void {
  apiCommand(
    program.command("send-report"),
    "send a configured report to its receivers now, beside its schedule",
  )
    .argument("<name>", "the report's name in the configuration")
    .option("--dry-run", "print what the message would say, and send nothing")
    .action(
      callsOperation(terminal, {
        operation: sendReport,
        request: ({ dryRun = false }, name) => ({ name, dry_run: dryRun }),
        text: ({ dry_run: isDryRun, receivers, summary, lines }) => {
          const end = isDryRun
            ? "This was a dry run. Nothing was sent to"
            : "The report is in the outbox for";
          return linesText([summary, ...lines, `${end} ${receivers.join(", ")}.`]);
        },
      }),
    );
}
