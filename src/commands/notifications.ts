import { CommandError, exitCodes } from "./exit-codes.ts";
import { nextLine } from "./pages.ts";
import type { PageOptions } from "./pages.ts";
import { atDesk, show } from "./reach-desk.ts";
import type { DeskOptions } from "./reach-desk.ts";
import { renderTable } from "./table.ts";
import type { Terminal } from "./terminal.ts";

export interface ListNotificationsOptions extends DeskOptions, PageOptions {
  readonly state?: string;
  readonly receiver?: string;
}

export async function listNotifications(
  options: ListNotificationsOptions,
  terminal: Terminal,
): Promise<void> {
  const { state, receiver, limit, before } = options;
  const query = {
    ...(state && { state }),
    ...(receiver && { receiver }),
    ...(limit && { limit }),
    ...(before && { before }),
  };
  const view = await atDesk(options, terminal, (desk) => desk.notifications(query));
  show(view, options, terminal, ({ notifications, next }) => {
    if (notifications.length === 0) return "There are no such notifications.\n";
    const rows = notifications.map((each) => [
      String(each.seq),
      each.state,
      each.receiver,
      each.type,
      each.created_at,
      String(each.attempts),
      each.last_reason ?? "",
      each.summary,
    ]);
    const header = ["seq", "state", "receiver", "type", "made", "attempts", "reason", "summary"];
    return renderTable(header, rows) + nextLine(next);
  });
}

export interface SelectOptions extends DeskOptions {
  readonly seq?: readonly number[];
  readonly receiver?: string;
}

/** Tries to deliver again what was given up. */
export async function replayNotifications(
  options: SelectOptions,
  terminal: Terminal,
): Promise<void> {
  const which = selection(options);
  const view = await atDesk(options, terminal, (desk) => desk.replay(which));
  show(view, options, terminal, ({ count }) => `${count} notifications are sent again\n`);
}

/** Lets be what was given up. */
export async function discardNotifications(
  options: SelectOptions,
  terminal: Terminal,
): Promise<void> {
  const which = selection(options);
  const view = await atDesk(options, terminal, (desk) => desk.discard(which));
  show(view, options, terminal, ({ count }) => `${count} notifications are discarded\n`);
}

function selection({ seq, receiver }: SelectOptions): { seqs: number[] } | { receiver: string } {
  if (seq !== undefined && receiver === undefined) return { seqs: [...seq] };
  if (receiver !== undefined && seq === undefined) return { receiver };
  throw new CommandError(
    "Say which: either --seq with numbers from the list, or all that were given up of one --receiver.",
    exitCodes.wrongUse,
  );
}
