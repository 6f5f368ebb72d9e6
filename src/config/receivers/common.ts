import { z } from "zod";
import { groupFields } from "../../alerts/notification.ts";
import { Secret } from "../../lib/secret.ts";
import { parseWebAddress } from "../address.ts";
import { count, duration, flag, name, oneOf, scalar } from "../fields.ts";
import { webAddress } from "../written.ts";

/** By which a receiver is known. */
export const receiverName = () =>
  name().describe("The name of the receiver in rules, commands and metrics. It must be unique.");

/** Where a receiver is; kept secret, since it often holds what lets anyone write to it. */
export function receiverUrl(): ReturnType<typeof scalar<Secret>> {
  return scalar("an https address without user and password, or url_file beside it", (value) => {
    const url = typeof value === "string" ? parseWebAddress(value) : undefined;
    return url && new Secret(url.href);
  })
    .meta(webAddress)
    .describe("The address that messages are sent to. It is treated as a secret.");
}

/** How long a message is tried. */
export function giveUpAfter() {
  return duration("1m", "30d")
    .prefault("24h")
    .describe(
      "How long a message is retried before it is dead-lettered and the other receivers are notified.",
    );
}

export function allowHttp(setting: "url" | "urls") {
  return flag()
    .prefault(false)
    .describe(`Allows \`${setting}\` with http that is not a loopback address.`);
}

export function sendResolved() {
  return flag().prefault(true).describe("Whether resolved incidents are notified.");
}

export function sendAcknowledged(usual: boolean) {
  return flag().prefault(usual).describe("Whether acknowledgements are notified.");
}

export function maxIncidents(most: number, usual: number) {
  return count(1, most)
    .prefault(usual)
    .describe("The most incidents that a message names. Further ones are counted.");
}

export function groupWait(usual: string) {
  return duration("0s")
    .prefault(usual)
    .describe("How long the first message of a group waits for more incidents.");
}

/** How messages are made, where a receiver can have several incidents in one. */
export const messageSettings = {
  group_by: z
    .array(oneOf(groupFields), `a list of ${groupFields.join(", ")}`)
    .readonly()
    .prefault(["rule", "region", "key"])
    .meta({ uniqueItems: true })
    .describe("Incidents with equal values of these fields are sent in one message."),
  group_wait: groupWait("5s"),
  group_interval: duration("0s", "1d").optional().meta({
    description: "The least time between two messages of a group.",
    leftOut: "the value of `group_wait`",
  }),
  merge_above: count(1, 1_000_000)
    .prefault(20)
    .describe(
      "If more servers, targets or probes than this are notified at once for one region, or for one pool whose own incident is notified with them, they are sent in one message. `group_by` has no effect on it.",
    ),
  send_resolved: sendResolved(),
  send_acknowledged: sendAcknowledged(false),
  max_incidents: maxIncidents(10_000, 100),
  give_up_after: giveUpAfter(),
};

export function messagesOf(receiver: z.output<z.ZodObject<typeof messageSettings>>) {
  return {
    groupBy: receiver.group_by,
    groupWaitMs: receiver.group_wait,
    groupIntervalMs: receiver.group_interval ?? receiver.group_wait,
    mergeAbove: receiver.merge_above,
    sendResolved: receiver.send_resolved,
    sendAcknowledged: receiver.send_acknowledged,
    maxIncidents: receiver.max_incidents,
    giveUpAfterMs: receiver.give_up_after,
  };
}

/** How a receiver wants its messages. Durations are milliseconds. */
export type MessageConfig = Readonly<ReturnType<typeof messagesOf>>;

/** For a receiver that groups by itself, or is notified of no incident: everything, at once. */
export const promptMessages: Omit<MessageConfig, "giveUpAfterMs"> = {
  groupBy: [],
  groupWaitMs: 0,
  groupIntervalMs: 0,
  mergeAbove: 1,
  sendResolved: true,
  sendAcknowledged: true,
  maxIncidents: 100,
};
