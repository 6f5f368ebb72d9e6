import { largestEvent, pagerdutyEventSchema } from "../../notify/support/pagerduty-event.ts";
import { webhookBodySchema } from "../../support/webhook-body.ts";
import type { Attempt } from "../history.ts";
import { routingKey } from "../settings.ts";
import type { VirtualRequest } from "./virtual-network.ts";

/**
 * An event of PagerDuty's Events API v2 as the message that it stands for. One incident has one event of
 * each kind, which may come several times; only reminders, which are triggers too, cannot be told apart.
 *
 * @throws {Error} when PagerDuty would refuse it
 */
export function readPagerdutyEvent(
  { headers, body }: VirtualRequest,
  atMs: number,
): Pick<Attempt, "webhookId" | "message"> {
  if (headers["content-type"] !== "application/json") throw new Error("the event is not JSON");
  if (Buffer.byteLength(body) > largestEvent) throw new Error("the event is too large");
  const event = pagerdutyEventSchema.parse(JSON.parse(body));
  if (event.routing_key !== routingKey) throw new Error("the routing key is wrong");
  const { summary, severity, timestamp, custom_details: details } = event.payload;
  const said = (name: string): string | null => details[name] ?? null;
  const isReminder = event.event_action === "trigger" && / still /.test(summary);
  const type = isReminder ? "incident.reminder" : typeOf[event.event_action];
  const message = webhookBodySchema.parse({
    type,
    timestamp,
    data: {
      rule: details["rule"],
      severity,
      group: { incident: event.dedup_key },
      summary,
      incidents: [
        {
          id: event.dedup_key,
          state: event.event_action === "resolve" ? "resolved" : "firing",
          subject: details["subject"],
          region: said("region"),
          key: said("key"),
          sandbox_id: said("sandbox_id"),
          server_id: said("server_id"),
          server_name: said("server_name"),
          status: said("status"),
          previous_status: said("previous_status"),
          started_at: details["started_at"],
          resolved_at: said("resolved_at"),
          resolved_reason: said("resolved_reason"),
          ...(details["receiver"] !== undefined && { receiver: details["receiver"] }),
          ...(details["probe"] !== undefined && { probe: details["probe"] }),
        },
      ],
      truncated: 0,
    },
  });
  const webhookId = `${event.dedup_key} ${type}${isReminder ? ` ${atMs}` : ""}`;
  return { webhookId, message };
}

const typeOf = {
  trigger: "incident.firing",
  acknowledge: "incident.acknowledged",
  resolve: "incident.resolved",
} as const;
