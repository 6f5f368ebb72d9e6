import type { NotificationDetailView } from "../interventions/views.ts";
import { CommandError, exitCodes } from "./exit-codes.ts";
import { nextLine } from "./pages.ts";
import type { PageOptions } from "./pages.ts";
import { runChange, runQuery, show } from "./reach-desk.ts";
import type { DeskOptions } from "./reach-desk.ts";
import { printable, renderTable } from "./table.ts";
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
  const view = await runQuery(options, terminal, (desk) => desk.notifications(query));
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

/** One notification, with its attempts. */
export async function showNotification(
  seq: string,
  options: DeskOptions,
  terminal: Terminal,
): Promise<void> {
  const view = await runQuery(options, terminal, (desk) => desk.notification(seq));
  show(view, options, terminal, inWords);
}

function inWords(view: NotificationDetailView): string {
  const lines = [
    `notification ${view.seq} to ${view.receiver}: ${view.state}`,
    `  id       ${view.id}`,
    `  type     ${view.type}`,
    `  rule     ${view.rule} (${view.severity})`,
    `  summary  ${view.summary}`,
    `  caused   ${view.caused_at}, made ${view.created_at}`,
    ...(view.settled_at === null ? [] : [`  settled  ${view.settled_at}`]),
  ];
  const head = lines.map((line) => `${printable(line)}\n`).join("");
  const rows = view.attempt_list.map(({ at, reason, detail }) => [
    at,
    reason ?? "taken",
    detail ?? "",
  ]);
  if (rows.length === 0) return `${head}No attempt to deliver it is kept.\n`;
  const left = view.attempts - rows.length;
  const gap = left > 0 ? `${left} of ${view.attempts} attempts are not kept\n` : "";
  return `${head}\n${renderTable(["attempt at", "result", "detail"], rows)}${gap}`;
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
  const view = await runChange(options, terminal, (desk) => desk.replay(which));
  show(view, options, terminal, ({ count }) => `${amountText(count)} sent again\n`);
}

/** Lets be what was given up. */
export async function discardNotifications(
  options: SelectOptions,
  terminal: Terminal,
): Promise<void> {
  const which = selection(options);
  const view = await runChange(options, terminal, (desk) => desk.discard(which));
  show(view, options, terminal, ({ count }) => `${amountText(count)} discarded\n`);
}

function amountText(count: number): string {
  return count === 1 ? "1 notification is" : `${count} notifications are`;
}

function selection({ seq, receiver }: SelectOptions): { seqs: number[] } | { receiver: string } {
  if (seq !== undefined && receiver === undefined) return { seqs: [...seq] };
  if (receiver !== undefined && seq === undefined) return { receiver };
  throw new CommandError(
    "Say which: either --seq with numbers from the list, or all that were given up of one --receiver.",
    exitCodes.wrongUse,
  );
}
