import type { Command } from "commander";
import {
  discardNotifications,
  listNotifications,
  replayNotifications,
  showNotification,
} from "../api/operations/notifications.ts";
import type { NotificationDetailView, NotificationView } from "../api/operations/notifications.ts";
import { callOperation } from "./call.ts";
import type { ApiOptions } from "./call.ts";
import { CommandError, exitCodes } from "./exit-codes.ts";
import { apiOptions, atLeast, pageOptions } from "./options.ts";
import type { PageOptions } from "./options.ts";
import { nextLine, show } from "./output.ts";
import { printable, renderTable } from "./table.ts";
import type { Terminal } from "./terminal.ts";

export function addNotifications(program: Command, terminal: Terminal): void {
  const notifications = program
    .command("notifications")
    .description("list, show, replay and discard notifications");

  pageOptions(apiOptions(notifications.command("list", { isDefault: true })))
    .description("list notifications, latest first")
    .option(
      "--state <states>",
      "only these states, separated by commas: pending, delivered, dead, discarded",
    )
    .option("--receiver <name>", "only notifications to this receiver")
    .action(async (options: ListOptions) => {
      const { state, receiver, limit, before } = options;
      const request = { state, receiver, limit, before };
      const view = await callOperation(options, terminal, listNotifications, request);
      show(view, options, terminal, ({ notifications: found, next }) =>
        found.length === 0
          ? "There are no such notifications.\n"
          : renderTable(header, found.map(cellsOf)) + nextLine(next),
      );
    });

  apiOptions(notifications.command("show"))
    .description("show a notification with all delivery attempts")
    .argument("<seq>", "its number in the list")
    .action(async (id: string, options: ApiOptions) => {
      const view = await callOperation(options, terminal, showNotification, { id });
      show(view, options, terminal, inWords);
    });

  selectionOptions(apiOptions(notifications.command("replay")))
    .description("send dead letters again")
    .action(async (options: SelectOptions) => {
      const which = selection(options);
      const view = await callOperation(options, terminal, replayNotifications, which);
      show(view, options, terminal, ({ count }) => `${amountText(count)} sent again\n`);
    });

  selectionOptions(apiOptions(notifications.command("discard")))
    .description("discard dead letters")
    .action(async (options: SelectOptions) => {
      const which = selection(options);
      const view = await callOperation(options, terminal, discardNotifications, which);
      show(view, options, terminal, ({ count }) => `${amountText(count)} discarded\n`);
    });
}

type ListOptions = ApiOptions &
  PageOptions & { readonly state?: string; readonly receiver?: string };

const header = ["seq", "state", "receiver", "type", "made", "attempts", "reason", "summary"];

function cellsOf(notification: NotificationView): readonly string[] {
  return [
    String(notification.seq),
    notification.state,
    notification.receiver,
    notification.type,
    notification.created_at,
    String(notification.attempts),
    notification.last_reason ?? "",
    notification.summary,
  ];
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
  if (rows.length === 0) return `${head}No attempt to deliver it is stored.\n`;
  const others = view.attempts - rows.length;
  const gap = others > 0 ? `${others} of ${view.attempts} attempts are not stored\n` : "";
  return `${head}\n${renderTable(["attempt at", "result", "detail"], rows)}${gap}`;
}

interface SelectOptions extends ApiOptions {
  readonly seq?: readonly number[];
  readonly receiver?: string;
}

function selectionOptions(command: Command): Command {
  return command
    .option("--seq <numbers...>", "the dead letters with these numbers in the list", collectNumbers)
    .option("--receiver <name>", "all dead letters of this receiver");
}

function collectNumbers(text: string, earlier: readonly number[] = []): readonly number[] {
  return [...earlier, ...text.split(",").map(atLeast(0))];
}

function selection({ seq, receiver }: SelectOptions): { seqs: number[] } | { receiver: string } {
  if (seq !== undefined && receiver === undefined) return { seqs: [...seq] };
  if (receiver !== undefined && seq === undefined) return { receiver };
  throw new CommandError(
    "Give either --seq with numbers from the list, or --receiver for all dead letters of a receiver.",
    exitCodes.wrongUse,
  );
}

function amountText(count: number): string {
  return count === 1 ? "1 notification is" : `${count} notifications are`;
}
