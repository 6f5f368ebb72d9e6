import { Webhook } from "standardwebhooks";
import { largestEvent, pagerdutyEventSchema } from "../../notify/support/pagerduty-event.ts";
import { slackMessageSchema } from "../../notify/support/slack-message.ts";
import { postableAlertsSchema } from "../../support/postable-alerts.ts";
import { webhookBodySchema } from "../../support/webhook-body.ts";
import type { ScenarioReceiver } from "../draw/receivers.ts";
import type { Attempt, Post } from "../history.ts";
import { generatorUrl, routingKey, signingSecret } from "../settings.ts";
import type { RecordRequest } from "./scripted-receiver.ts";
import type { VirtualRequest } from "./virtual-network.ts";
import type { WorldTime } from "./world-time.ts";

/** @throws {Error} when the receiver would refuse it */
type ReadMessage = (
  request: VirtualRequest,
  atMs: number,
) => Pick<Attempt, "webhookId" | "message">;

/** Records what comes to a receiver that gets messages. */
export function recordMessages(
  { name, type }: ScenarioReceiver,
  time: WorldTime,
  attempts: Attempt[],
): RecordRequest {
  const read = { webhook: readWebhook, pagerduty: readPagerdutyEvent }[type];
  return (request, taken) => {
    const { nowMs: atMs } = time;
    const { sender: life, body } = request;
    const message = read(request, atMs);
    const attempt: Attempt = { receiver: name, life, atMs, ...message, body, taken, ...unanswered };
    attempts.push(attempt);
    const { type: what, data } = attempt.message;
    const about = data.incidents.map(
      ({ id, region, key, sandbox_id: box, server_id: server }) =>
        `${id} (${region}/${key} ${box ?? ""} ${server ?? ""})`,
    );
    const text = `${attempt.webhookId.slice(0, 10)}: ${data.rule} ${what} ${about.join(", ")}`;
    return { received: attempt, text, isNews: true };
  };
}

const unanswered = { answered: null, refused: null };

const webhook = new Webhook(signingSecret);

const readWebhook: ReadMessage = ({ headers, body }) => {
  const webhookId = headers["webhook-id"] ?? "";
  const sentAt = new Date(Number(headers["webhook-timestamp"]) * 1_000);
  const signature = webhook.sign(webhookId, sentAt, body);
  if (headers["webhook-signature"] !== signature) throw new Error("the signature is wrong");
  return { webhookId, message: webhookBodySchema.parse(JSON.parse(body)) };
};

/**
 * An event of PagerDuty's Events API v2 as the message that it stands for. One incident has one event of
 * each kind, which may come several times; only reminders, which are triggers too, cannot be distinguished.
 */
const readPagerdutyEvent: ReadMessage = ({ headers, body }, atMs) => {
  if (headers["content-type"] !== "application/json") throw new Error("the event is not JSON");
  if (Buffer.byteLength(body) > largestEvent) throw new Error("the event is too large");
  const event = pagerdutyEventSchema.parse(JSON.parse(body));
  if (event.routing_key !== routingKey) throw new Error("the routing key is wrong");
  const { event_action: action, dedup_key: id } = event;
  const { summary, severity, timestamp, custom_details: details } = event.payload;
  const isReminder = action === "trigger" && / still /.test(summary);
  const type = isReminder ? "incident.reminder" : typeOf[action];
  const nullable = Object.fromEntries(detailNames.map((name) => [name, details[name] ?? null]));
  const { rule, subject, started_at, receiver, probe } = details;
  const incident = {
    id,
    subject,
    started_at,
    ...nullable,
    state: action === "resolve" ? "resolved" : "firing",
    ...(receiver !== undefined && { receiver }),
    ...(probe !== undefined && { probe }),
  };
  const group = { incident: id };
  const data = { rule, severity, group, summary, incidents: [incident], truncated: 0 };
  const message = webhookBodySchema.parse({ type, timestamp, data });
  return { webhookId: `${id} ${type}${isReminder ? ` ${atMs}` : ""}`, message };
};

const typeOf = {
  trigger: "incident.firing",
  acknowledge: "incident.acknowledged",
  resolve: "incident.resolved",
} as const;

/** Those that an event may lack. */
const detailNames = [
  "region",
  "key",
  "sandbox_id",
  "server_id",
  "server_name",
  "status",
  "previous_status",
  "resolved_at",
  "resolved_reason",
];

/** Checks that Slack would accept what comes. */
export function acceptSlackMessages(): RecordRequest {
  return ({ headers, body }) => {
    if (!headers["content-type"]?.startsWith("application/json")) throw new Error("it is not JSON");
    const { text } = slackMessageSchema.parse(JSON.parse(body));
    if (/<(?!!date\^)/.test(body)) throw new Error("it mentions or links");
    return { received: { ...unanswered }, text, isNews: true };
  };
}

/** Records what comes to the Alertmanager. */
export function recordPosts(time: WorldTime, posts: Post[]): RecordRequest {
  let before = "";
  return (request, taken) => {
    const alerts = readAlerts(request);
    const { sender: life, exchange } = request;
    const { sentMs } = exchange;
    const post: Post = { life, sentMs, atMs: time.nowMs, alerts, taken, ...unanswered };
    posts.push(post);
    const texts = alerts.map(({ labels, annotations, endsAt }) => {
      const { alertname, region, key, sandbox_id: box, server_id: server } = labels;
      const state = Date.parse(endsAt) > time.utcMs ? "fires" : "is resolved";
      const about = `${region}/${key} ${box ?? ""} ${server ?? ""}`;
      return `${alertname} ${annotations["incident_id"]} (${about}) ${state}`;
    });
    const text = texts.join(", ");
    const isNews = text !== before || !taken;
    before = text;
    return { received: post, text, isNews };
  };
}

function readAlerts({ method, path, headers, body }: VirtualRequest): Post["alerts"] {
  if (method !== "POST" || path !== "/api/v2/alerts") throw new Error(`${method} ${path} is asked`);
  if (headers["content-type"] !== "application/json") throw new Error("the alerts are not JSON");
  const alerts = postableAlertsSchema.min(1).parse(JSON.parse(body));
  for (const { generatorURL, annotations } of alerts) {
    if (generatorURL !== generatorUrl) throw new Error("the alert has another link");
    if (!annotations["summary"]) throw new Error("the alert has no summary");
    if (!annotations["incident_id"]) throw new Error("the alert names no incident");
  }
  const labels = new Set(alerts.map((alert) => JSON.stringify(alert.labels)));
  if (labels.size < alerts.length) throw new Error("an alert is contained twice");
  return alerts;
}
