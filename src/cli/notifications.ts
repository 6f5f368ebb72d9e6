import type { Command, OptionValues } from "commander";
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
import { listText } from "./output.ts";
import { printable } from "./table.ts";
import type { Terminal } from "./terminal.ts";

export function addNotifications(program: Command, terminal: Terminal): void {
  const notifications = program
    .command("notifications")
    .description("list, show, replay and discard notifications");

  listCommand(notifications, "list", "list notifications, latest first", { isDefault: true })
    .option(
      "--state <states>",
      "only these states, separated by commas: pending, delivered, dead, discarded",
    )
    .option("--receiver <name>", "only notifications to this receiver")
    .action(
      callsOperation(terminal, {
        operation: listNotifications,
        request: (fields) => fields,
        text: ({ notifications: found, next }) =>
          listText(
            found,
            "There are no such notifications.",
            {
              seq: "seq",
              state: "state",
              receiver: "receiver",
              type: "type",
              made: "created_at",
              attempts: "attempts",
              reason: "last_reason",
              summary: "summary",
            },
            next,
          ),
      }),
    );

  apiCommand(notifications, "show", "show a notification with all delivery attempts")
    .argument("<seq>", "its number in the list")
    .action(
      callsOperation(terminal, {
        operation: showNotification,
        request: (_fields, id) => ({ id }),
        text: notificationText,
      }),
    );

  for (const { name, description, operation, done } of acting) {
    apiCommand(notifications, name, description)
      .option("--seq <numbers...>", "the dead letters with these numbers in the list", readSeqs)
      .option("--receiver <name>", "all dead letters of this receiver")
      .action(
        callsOperation(terminal, {
          operation,
          request: selectionOf,
          text: ({ count }) => `notifications ${done}: ${count}\n`,
        }),
      );
  }
}

const acting = [
  {
    name: "replay",
    description: "send dead letters again",
    operation: replayNotifications,
    done: "sent again",
  },
  {
    name: "discard",
    description: "discard dead letters",
    operation: discardNotifications,
    done: "discarded",
  },
] as const;

function readSeqs(text: string, earlier: readonly number[] = []): readonly number[] {
  return [...earlier, ...text.split(",").map(wholeNumber(0))];
}

function selectionOf({ seq, receiver }: OptionValues) {
  if (receiver === undefined && seq !== undefined) return { seqs: seq };
  if (receiver !== undefined && seq === undefined) return { receiver };
  throw wrongUse(
    "Give either --seq with numbers from the list, or --receiver for all dead letters of a receiver.",
  );
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
    "",
  ];
  const table = listText(attempts, "No attempt to deliver it is stored.", {
    "attempt at": "at",
    result: ({ reason }) => reason ?? "taken",
    detail: "detail",
  });
  return lines.map(printable).join("\n") + table;
}
