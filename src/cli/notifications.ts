import type { Command } from "commander";
import {
  discardNotifications,
  listNotifications,
  replayNotifications,
  showNotification,
} from "../api/operations/notifications.ts";
import type { NotificationDetailView } from "../api/operations/notifications.ts";
import { notificationStates, type NotificationState } from "../store/notifications.ts";
import { apiCommand, callsOperation, listCommand, timesCommand } from "./api-command.ts";
import { wrongUse } from "./exit-codes.ts";
import { lists } from "./list-history.ts";
import type { Color, Look } from "./look.ts";
import { wholeNumber, WordsOption } from "./options.ts";
import { linesText, listText } from "./output.ts";
import type { Columns } from "./table.ts";
import type { Terminal } from "./terminal.ts";

export function addNotifications(program: Command, terminal: Terminal): void {
  const notifications = program
    .command("notifications")
    .description("list, show, replay and discard notifications");

  const list = notifications.command("list", { isDefault: true });
  listCommand(list, "list notifications, latest first")
    .addOption(
      new WordsOption("--state <states>", "only these, separated by commas", notificationStates),
    )
    .option("--receiver <name>", "only notifications to this receiver")
    .action(
      lists(terminal, {
        operation: listNotifications,
        request: (fields) => fields,
        items: ({ notifications: found }) => found,
        nothing: "There are no such notifications.",
        columns: {
          seq: "seq",
          state: ({ state }) => ({ text: state, color: stateColors[state] }),
          receiver: "receiver",
          type: ({ type }) => type.replace("incident.", ""),
          made: ({ created_at: at }, { timeText }) => timeText(at),
          attempts: "attempts",
          reason: "last_reason",
          summary: "summary",
        },
      }),
    );

  timesCommand(notifications.command("show"), "show a notification with all delivery attempts")
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

const stateColors: Readonly<Record<NotificationState, Color | undefined>> = {
  pending: "yellow",
  delivered: undefined,
  dead: "red",
  discarded: undefined,
};

function readSeqs(text: string, earlier: readonly number[] = []): readonly number[] {
  return [...earlier, ...text.split(",").map(wholeNumber(0))];
}

function notificationText(view: NotificationDetailView, look: Look): string {
  const attempts = view.attempt_list;
  const at = look.timeText;
  const lines = [
    `notification ${view.seq} to ${view.receiver}: ${view.state}`,
    `  id       ${view.id}`,
    `  type     ${view.type}`,
    `  rule     ${view.rule} (${view.severity})`,
    `  summary  ${view.summary}`,
    `  caused   ${at(view.caused_at)}, made ${at(view.created_at)}`,
    ...(view.settled_at === null ? [] : [`  settled  ${at(view.settled_at)}`]),
    `  attempts ${view.attempts}, ${attempts.length} of them stored`,
    "",
  ];
  const nothing = "No attempt to deliver it is stored.";
  const columns: Columns<(typeof attempts)[number]> = {
    attempt: (attempt) => at(attempt.at),
    result: ({ reason }) => reason ?? "taken",
    detail: "detail",
  };
  return linesText(lines) + listText(attempts, nothing, null, columns, look);
}
