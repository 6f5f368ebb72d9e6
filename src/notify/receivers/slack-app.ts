import { z } from "zod";
import { groupValue } from "../../alerts/grouping.ts";
import { groupFields, type Notification, type OutboxItem } from "../../alerts/notification.ts";
import { summarize } from "../../alerts/notification-summary.ts";
import type { ConfigOf } from "../../config/schema-receivers.ts";
import type {
  MessageThread,
  MessageThreads,
  NotifiedAlert,
  NotifiedAlerts,
} from "../../store/receiver-state.ts";
import type { SenderDeps } from "../outbound.ts";
import { failed, type Receiver, type SendResult } from "../receiver.ts";
import { alertItem, withTexts } from "./notified-alerts.ts";
import { slackMessage } from "./slack.ts";
import { createSlackApi } from "./slack-api.ts";

/** Slack accepts about one message a second in a channel. */
const restMs = 1_000;

export interface SlackAppDeps extends SenderDeps {
  readonly notifiedAlerts: NotifiedAlerts;
  readonly messageThreads: MessageThreads;
}

/** Where a message is. `configured`: the channel as it was configured. */
const postedSchema = z.object({ configured: z.string(), channel: z.string(), ts: z.string() });
type Posted = z.infer<typeof postedSchema>;

type Sent = SendResult & { readonly posted?: Posted };

/**
 * Posts a message for each group, changes it to what fires, and answers in its thread with what has changed. The message is
 * changed first: if the answer fails and is tried again, that repeats nothing.
 */
export function createSlackAppReceiver(
  settings: Pick<
    ConfigOf<"slack_app">,
    "name" | "url" | "token" | "channel" | "maxIncidents" | "appToken"
  >,
  { outbound, clock, externalUrl = null, notifiedAlerts, messageThreads }: SlackAppDeps,
): Receiver {
  const { name, token, channel: configured, maxIncidents } = settings;
  const api = createSlackApi(settings, outbound);
  const withButtons = settings.appToken !== null;

  const call = async (
    method: "chat.postMessage" | "chat.update",
    where: object,
    notification: Notification,
    signal: AbortSignal,
    hasButtons = withButtons,
  ): Promise<Sent> => {
    const message = slackMessage(notification, clock.now().utcMs, externalUrl, hasButtons);
    const { result, read } = await api(method, token, { ...where, ...message }, signal);
    const { channel, ts } = read ?? {};
    if (channel === undefined || ts === undefined) return result;
    return { ...result, posted: { configured, channel, ts } };
  };

  const post = (notification: Notification, signal: AbortSignal) =>
    call(
      "chat.postMessage",
      { channel: configured, unfurl_links: false, unfurl_media: false },
      notification,
      signal,
    );

  const answer = ({ channel, ts }: Posted, notification: Notification, signal: AbortSignal) =>
    call("chat.postMessage", { channel, thread_ts: ts }, notification, signal, false);

  /** Null: the message is not there any more. */
  const change = async (
    thread: Posted,
    notification: Notification,
    signal: AbortSignal,
  ): Promise<SendResult | null> => {
    const { channel, ts } = thread;
    const result = await call("chat.update", { channel, ts }, notification, signal);
    return result.kind === "failed" && lost.has(result.detail.split(" ").at(-1) ?? "")
      ? null
      : result;
  };

  const sendToGroup = async (
    notification: Notification,
    signal: AbortSignal,
  ): Promise<SendResult> => {
    const { type, rule } = notification;
    if (type === "report") return post(notification, signal);
    const group = groupName(notification.group);
    const threads = await messageThreads.ofRule(name, rule);
    const known = await notifiedAlerts.firingOf(name, rule);
    const alerts = await withTexts(notifiedAlerts, name, known);
    const items = alerts.map((alert) => alertItem(alert, clock.now().utcMs));
    // The messages of other groups that are over, too: what was sent as several groups can end as one.
    for (const thread of threads) {
      const firing = items.filter((item) => isOf(item, thread.group));
      if (thread.group !== group && firing.length > 0) continue;
      const posted = postedIn(thread, configured);
      const nowMs = clock.now().utcMs;
      const message = currentMessage(notification, firing, maxIncidents, nowMs);
      const changed = posted && (await change(posted, message, signal));
      if (changed && changed.kind !== "delivered") return changed;
      if (changed && posted && thread.group === group) {
        const answered = await answer(posted, notification, signal);
        if (answered.kind !== "delivered") return answered;
      }
      if (firing.length === 0 || !changed) await messageThreads.remove(name, rule, thread.group);
      if (changed && thread.group === group) return { kind: "delivered" };
    }
    const { posted, ...result } = await post(notification, signal);
    if (posted && items.some((item) => isOf(item, group))) {
      const message = JSON.stringify(posted);
      await messageThreads.save(name, rule, { group, message }, clock.now().utcMs);
    }
    return result;
  };

  return {
    name,
    restMs,
    async send(notification, signal) {
      try {
        return await sendToGroup(notification, signal);
      } catch {
        return failed("network", "the store failed");
      }
    },
  };
}

/** The incidents of a message that fire; null: it is none of those that the receiver will change again. */
export async function firingInMessage(
  receiver: string,
  at: Pick<Posted, "channel" | "ts">,
  nowMs: number,
  { notifiedAlerts, messageThreads }: Pick<SlackAppDeps, "notifiedAlerts" | "messageThreads">,
): Promise<readonly NotifiedAlert[] | null> {
  const threads = await messageThreads.ofReceiver(receiver);
  const thread = threads.find(({ message }) => {
    const posted = postedSchema.safeParse(JSON.parse(message)).data;
    return posted?.channel === at.channel && posted.ts === at.ts;
  });
  if (!thread) return null;
  const firing = await notifiedAlerts.firingOf(receiver, thread.rule);
  return firing.filter((each) => isOf(alertItem({ ...each, text: null }, nowMs), thread.group));
}

/** The message of a group as it should be now. */
function currentMessage(
  notification: Notification,
  items: readonly OutboxItem[],
  maxIncidents: number,
  nowMs: number,
): Notification {
  const { stillFiring: _, ...rest } = notification;
  if (items.length === 0) return rest;
  const incidents = items.map(({ incident }) => incident);
  const isAcknowledged = incidents.every(({ acknowledgedBy }) => acknowledgedBy !== null);
  const type = isAcknowledged ? "incident.acknowledged" : "incident.firing";
  return {
    ...rest,
    type,
    summary: summarize(
      items.map((item) => ({ ...item, type })),
      nowMs,
    ),
    incidents: incidents.slice(0, maxIncidents),
    truncated: Math.max(0, incidents.length - maxIncidents),
  };
}

function groupName(group: Notification["group"]): string {
  return JSON.stringify(Object.entries(group).toSorted(([a], [b]) => (a < b ? -1 : 1)));
}

const groupSchema = z.array(z.tuple([z.enum(groupFields), z.string()]));

function isOf(item: OutboxItem, group: string): boolean {
  const fields = groupSchema.safeParse(JSON.parse(group)).data ?? [];
  return fields.every(([field, value]) => groupValue(item, field) === value);
}

/** Null: it was posted to another channel than the one that is configured now. */
function postedIn({ message }: MessageThread, configured: string): Posted | null {
  const posted = postedSchema.safeParse(JSON.parse(message)).data;
  return posted?.configured === configured ? posted : null;
}

/** Errors after which another message is posted. */
const lost = new Set(["message_not_found", "cant_update_message", "edit_window_closed"]);
