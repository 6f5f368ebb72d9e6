import { z } from "zod";
import { groupFields, type GroupField } from "../../core/notification.ts";
import { Secret } from "../../platform/secret.ts";
import { parseWebAddress } from "../address.ts";
import type { MessageConfig } from "../config.ts";
import { count, duration, flag, oneOf, scalar } from "../fields.ts";

/** Where a receiver is; kept secret, since it often holds what lets anyone write to it. */
export function receiverUrl(): ReturnType<typeof scalar<Secret>> {
  return scalar("an https address without user and password, or url_file beside it", (value) => {
    const url = typeof value === "string" ? parseWebAddress(value) : undefined;
    return url && new Secret(url.href);
  });
}

/** How long a message is tried. */
export function giveUpAfter() {
  return duration("1m", "30d").default(24 * 60 * 60 * 1_000);
}

/** How messages are made, where a receiver can have several incidents in one. */
export const messageSettings = {
  group_by: z
    .array(oneOf(groupFields), `a list of ${groupFields.join(", ")}`)
    .readonly()
    .default(["rule", "region", "key"]),
  group_wait: duration("0s").default(5_000),
  group_interval: duration("0s", "1d").optional(),
  merge_above: count(1, 1_000_000).default(20),
  send_resolved: flag().default(true),
  send_acknowledged: flag().default(false),
  max_incidents: count(1, 10_000).default(100),
  give_up_after: giveUpAfter(),
};

interface MessageSettings {
  readonly group_by: readonly GroupField[];
  readonly group_wait: number;
  readonly group_interval?: number | undefined;
  readonly merge_above: number;
  readonly send_resolved: boolean;
  readonly send_acknowledged: boolean;
  readonly max_incidents: number;
  readonly give_up_after: number;
}

export function messagesOf(receiver: MessageSettings): MessageConfig {
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
