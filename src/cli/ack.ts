import type { Command } from "commander";
import { acknowledgeIncident } from "../api/operations/incidents.ts";
import { callOperation } from "./call.ts";
import type { ApiOptions } from "./call.ts";
import { apiOptions } from "./options.ts";
import { show } from "./output.ts";
import { printable } from "./table.ts";
import type { Terminal } from "./terminal.ts";

interface AckOptions extends ApiOptions {
  readonly author: string;
  readonly note?: string;
}

export function addAck(program: Command, terminal: Terminal): void {
  apiOptions(program.command("ack"))
    .description(
      "acknowledge a firing incident: stops its reminders; you are still notified when it resolves",
    )
    .argument("<incident>", "the id of the incident, or a prefix of it")
    .requiredOption("--author <name>", "your name")
    .option("--note <text>", "a note, shown with the acknowledgement")
    .action(async (id: string, options: AckOptions) => {
      const { author, note } = options;
      const request = { id, author, note };
      const view = await callOperation(options, terminal, acknowledgeIncident, request);
      show(view, options, terminal, ({ incident_id, already, acknowledged_at }) =>
        already
          ? `incident ${incident_id} was acknowledged by ${printable(view.author)} at ${acknowledged_at}\n`
          : `incident ${incident_id} is acknowledged\n`,
      );
    });
}
