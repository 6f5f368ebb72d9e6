import { Webhook } from "standardwebhooks";
import { readPagerdutyEvent } from "../../notify/support/pagerduty-event.ts";
import { webhookBodySchema } from "../../support/webhook-body.ts";
import type { ScenarioReceiver } from "../draw/receivers.ts";
import type { Attempt, Page } from "../history.ts";
import { routingKey, signingSecret } from "../settings.ts";
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
    return { received: attempt, text };
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
    return { received: page, text: `${event.event_action} ${about}` };
  };
}
