import type { Command } from "commander";
import {
  discardNotifications,
  listNotifications,
  replayNotifications,
  showNotification,
} from "../api/operations/notifications.ts";
import type { NotificationDetailView } from "../api/operations/notifications.ts";
import { apiCommand, callsOperation, listCommand } from "./api-command.ts";
import { wrongUse } from "./exit-codes.ts";
import { wholeNumber } from "./options.ts";
import { linesText, listText } from "./output.ts";
import type { Terminal } from "./terminal.ts";

export function addNotifications(program: Command, terminal: Terminal): void {
  const notifications = program
    .command("notifications")
    .description("list, show, replay and discard notifications");

  const list = notifications.command("list", { isDefault: true });
  listCommand(list, "list notifications, latest first")
    .option("--state <states>", "only these states: pending, delivered, dead, discarded")
    .option("--receiver <name>", "only notifications to this receiver")
    .action(
      callsOperation(terminal, {
        operation: listNotifications,
        request: (fields) => fields,
        text: ({ notifications: found, next }) =>
          listText(found, "There are no such notifications.", next, {
            seq: "seq",
            state: "state",
            receiver: "receiver",
            type: "type",
            made: "created_at",
            attempts: "attempts",
            reason: "last_reason",
            summary: "summary",
          }),
      }),
    );

  apiCommand(notifications.command("show"), "show a notification with all delivery attempts")
    .argument("<seq>", "its number in the list")
    .action(
      callsOperation(terminal, {
        operation: showNotification,
        request: (_fields, id) => ({ id }),
        text: notificationText,
      }),
    );

  for (const [name, description, operation] of [
    ["replay", "send dead letters again", replayNotifications],
    ["discard", "discard dead letters", discardNotifications],
  ] as const) {
    apiCommand(notifications.command(name), description)
      .option("--seq <numbers...>", "the dead letters with these numbers in the list", readSeqs)
      .option("--receiver <name>", "all dead letters of this receiver")
      .action(
        callsOperation(terminal, {
          operation,
          request({ seq: seqs, receiver }) {
            if ((seqs === undefined) === (receiver === undefined)) {
              throw wrongUse("Give either --seq with numbers from the list, or --receiver.");
            }
            return seqs ? { seqs } : { receiver };
          },
          text: ({ count }) => `${name}: ${count} dead letters\n`,
        }),
      );
  }
}

function readSeqs(text: string, earlier: readonly number[] = []): readonly number[] {
  return [...earlier, ...text.split(",").map(wholeNumber(0))];
}

function notificationText(view: NotificationDetailView): string {
  const attempts = view.attempt_list;
  const lines = [
    `notification ${view.seq} to ${view.receiver}: ${view.state}`,
    `  id       ${view.id}`,
    `  type     ${view.type}`,
    `  rule     ${view.rule} (${view.severity})`,
    `  summary  ${view.summary}`,
    `  caused   ${view.caused_at}, made ${view.created_at}`,
    ...(view.settled_at === null ? [] : [`  settled  ${view.settled_at}`]),
    `  attempts ${view.attempts}, of which ${attempts.length} are stored`,
    "",
  ];
  const table = listText(attempts, "No attempt to deliver it is stored.", null, {
    "attempt at": "at",
    result: ({ reason }) => reason ?? "taken",
    detail: "detail",
  });
  return linesText(lines) + table;
}
