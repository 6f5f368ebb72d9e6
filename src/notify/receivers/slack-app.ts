import { z } from "zod";
import { groupValue } from "../../alerts/grouping.ts";
import { groupFields, type Notification, type OutboxItem } from "../../alerts/notification.ts";
import { summarize } from "../../alerts/notification-summary.ts";
import type { ConfigOf } from "../../config/schema-receivers.ts";
import { Secret } from "../../lib/secret.ts";
import { parseReceiverUrl, readAnswer, readJson, type Answer } from "../outbound.ts";
import type { SenderDeps } from "../outbound.ts";
import { failed, type AttemptFailureReason, type Receiver, type SendResult } from "../receiver.ts";
import type { MessageThread, MessageThreads } from "./message-threads.ts";
import { alertItem, withTexts, type NotifiedAlerts } from "./notified-alerts.ts";
import { slackMessage } from "./slack.ts";

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
  settings: Pick<ConfigOf<"slack_app">, "name" | "url" | "token" | "channel" | "maxIncidents">,
  { outbound, clock, externalUrl = null, notifiedAlerts, messageThreads }: SlackAppDeps,
): Receiver {
  const { name, token, channel: configured, maxIncidents } = settings;
  const base = parseReceiverUrl(settings).href.replace(/\/*$/, "/");
  const headers = { "content-type": "application/json; charset=utf-8" };
  const secretHeaders = new Map([["authorization", new Secret(`Bearer ${token.reveal()}`)]]);

  const call = async (
    method: "chat.postMessage" | "chat.update",
    where: object,
    notification: Notification,
    signal: AbortSignal,
  ): Promise<Sent> => {
    const message = slackMessage(notification, clock.now().utcMs, externalUrl);
    const body = JSON.stringify({ ...where, ...message });
    let posted: Posted | undefined;
    const url = new URL(method, base);
    const result = await outbound.send({ url, body, headers, secretHeaders }, signal, (answer) => {
      const { channel, ts } = readJson(answer, answerSchema) ?? {};
      if (channel !== undefined && ts !== undefined) posted = { configured, channel, ts };
      return readSlackAppAnswer(answer);
    });
    return { ...result, ...(posted && { posted }) };
  };

  const post = (notification: Notification, signal: AbortSignal, thread?: Posted) =>
    call(
      "chat.postMessage",
      thread
        ? { channel: thread.channel, thread_ts: thread.ts }
        : { channel: configured, unfurl_links: false, unfurl_media: false },
      notification,
      signal,
    );

  /** What fires in a group, as the receiver was notified. */
  const firingItems = async (notification: Notification) => {
    const known = await notifiedAlerts.firingOf(name, notification.rule);
    return withTexts(notifiedAlerts, name, known);
  };

  /** The message of a group as it should be now. */
  const current = (notification: Notification, items: readonly OutboxItem[]): Notification => {
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
        clock.now().utcMs,
      ),
      incidents: incidents.slice(0, maxIncidents),
      truncated: Math.max(0, incidents.length - maxIncidents),
    };
  };

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
    const items = (await firingItems(notification)).map((alert) =>
      alertItem(alert, clock.now().utcMs),
    );
    // The messages of other groups that are over, too: what was sent as several groups can end as one.
    for (const thread of threads) {
      const firing = items.filter((item) => isOf(item, thread.group));
      if (thread.group !== group && firing.length > 0) continue;
      const posted = postedIn(thread, configured);
      const changed = posted && (await change(posted, current(notification, firing), signal));
      if (changed && changed.kind !== "delivered") return changed;
      if (changed && posted && thread.group === group) {
        const answered = await post(notification, signal, posted);
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

const answerSchema = z.object({
  ok: z.boolean(),
  error: z.string().optional(),
  channel: z.string().optional(),
  ts: z.string().optional(),
});

/** What the errors of Slack's Web API mean. One that is not known is tried again. */
const errorReasons = new Map<string, AttemptFailureReason>(
  Object.entries({
    rejected:
      "invalid_blocks invalid_blocks_format msg_too_long msg_blocks_too_long no_text too_many_attachments " +
      "invalid_arguments invalid_form_data invalid_json message_not_found cant_update_message edit_window_closed " +
      "restricted_action restricted_action_read_only_channel",
    gone:
      "invalid_auth not_authed account_inactive token_revoked token_expired missing_scope no_permission " +
      "not_allowed_token_type ekm_access_denied org_login_required channel_not_found not_in_channel is_archived",
    rate_limited: "ratelimited rate_limited message_limit_exceeded",
    server_error:
      "internal_error fatal_error service_unavailable request_timeout team_added_to_org",
  } satisfies Partial<Record<AttemptFailureReason, string>>).flatMap(([reason, errors]) =>
    errors.split(" ").map((error) => [error, reasonOf(reason)] as const),
  ),
);

function reasonOf(name: string): AttemptFailureReason {
  return name === "gone" || name === "rate_limited" || name === "rejected" ? name : "server_error";
}

/** Errors after which another message is posted. */
const lost = new Set(["message_not_found", "cant_update_message", "edit_window_closed"]);

function readSlackAppAnswer(answer: Answer): SendResult {
  const read = readJson(answer, answerSchema);
  const result = readAnswer(answer);
  if (result.kind !== "delivered" || read?.ok === true) return result;
  // An answer of Slack's API is JSON; anything else is from something on the way.
  const error = read?.error ?? "";
  const reason = errorReasons.get(error);
  const detail = `HTTP ${answer.status} ${reason === undefined ? "with an error" : error}`;
  return failed(reason ?? "server_error", detail, answer.retryAfterMs);
}
