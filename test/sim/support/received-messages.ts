import { Webhook } from "standardwebhooks";
import { readPagerdutyEvent } from "../../notify/support/pagerduty-event.ts";
import { slackMessageSchema } from "../../notify/support/slack-message.ts";
import { postableAlertsSchema } from "../../support/postable-alerts.ts";
import { webhookBodySchema } from "../../support/webhook-body.ts";
import type { ScenarioReceiver } from "../draw/receivers.ts";
import type { Attempt, Page, Post } from "../history.ts";
import { generatorUrl, routingKey, signingSecret } from "../settings.ts";
import type { RecordRequest } from "./scripted-receiver.ts";
import type { VirtualRequest } from "./virtual-network.ts";
import type { WorldTime } from "./world-time.ts";

/** Records what comes to a receiver that gets messages. */
export function recordMessages(
  { name }: ScenarioReceiver,
  time: WorldTime,
  attempts: Attempt[],
): RecordRequest {
  return (request, taken) => {
    const { nowMs: atMs } = time;
    const { sender: life, body } = request;
    const message = readWebhook(request);
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

/** @throws {Error} when the receiver would refuse it */
function readWebhook({ headers, body }: VirtualRequest): Pick<Attempt, "webhookId" | "message"> {
  const webhookId = headers["webhook-id"] ?? "";
  const sentAt = new Date(Number(headers["webhook-timestamp"]) * 1_000);
  const signature = webhook.sign(webhookId, sentAt, body);
  if (headers["webhook-signature"] !== signature) throw new Error("the signature is wrong");
  return { webhookId, message: webhookBodySchema.parse(JSON.parse(body)) };
}

/** Records what comes to PagerDuty. */
export function recordPages(time: WorldTime, pages: Page[]): RecordRequest {
  return ({ sender: life, headers, body }, taken) => {
    if (headers["content-type"] !== "application/json") throw new Error("the event is not JSON");
    const event = readPagerdutyEvent(body);
    if (event.routing_key !== routingKey) throw new Error("the routing key is wrong");
    const page: Page = { life, atMs: time.nowMs, event, taken, ...unanswered };
    pages.push(page);
    const { rule, region, key, count, incidents } = event.payload.custom_details;
    const about = `${rule} of ${region}/${key}: ${count} (${incidents.join(", ")})`;
    return { received: page, text: `${event.event_action} ${about}`, isNews: true };
  };
}

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
