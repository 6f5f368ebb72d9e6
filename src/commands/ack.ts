import { runChange, show } from "./reach-desk.ts";
import type { DeskOptions } from "./reach-desk.ts";
import { printable } from "./table.ts";
import type { Terminal } from "./terminal.ts";

export interface AckOptions extends DeskOptions {
  readonly author: string;
  readonly note?: string;
}

/** Says "I know" of an incident: its reminders stop, and its end is still told. */
export async function ack(
  incident: string,
  options: AckOptions,
  terminal: Terminal,
): Promise<void> {
  const { author, note } = options;
  const request = { author, ...(note !== undefined && { note }) };
  const view = await runChange(options, terminal, (desk) => desk.acknowledge(incident, request));
  show(view, options, terminal, (ackView) => {
    const id = ackView.incident_id;
    return ackView.already
      ? `incident ${id} was acknowledged by ${printable(ackView.author)} at ${ackView.acknowledged_at}\n`
      : `incident ${id} is acknowledged\n`;
  });
}
