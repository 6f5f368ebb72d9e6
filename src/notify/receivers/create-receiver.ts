import type { ReceiverConfig } from "../../config/schema-receivers.ts";
import type { Receiver } from "../receiver.ts";
import { createAlertmanagerReceiver, type AlertmanagerDeps } from "./alertmanager.ts";
import { createHeartbeatReceiver, type HeartbeatDeps } from "./heartbeat.ts";
import { createPagerdutyReceiver } from "./pagerduty.ts";
import { createSlackReceiver } from "./slack.ts";
import { createWebhookReceiver } from "./webhook.ts";

export interface ReceiverDeps extends AlertmanagerDeps, HeartbeatDeps {}

/**
 * The types of receivers.
 *
 * @throws {Error} when the settings cannot be used; the error contains no secret
 */
export function createReceiver(settings: ReceiverConfig, deps: ReceiverDeps): Receiver {
  switch (settings.type) {
    case "webhook":
      return createWebhookReceiver(settings, deps);
    case "slack":
      return createSlackReceiver(settings, deps);
    case "pagerduty":
      return createPagerdutyReceiver(settings, deps);
    case "alertmanager":
      return createAlertmanagerReceiver(settings, deps);
    case "heartbeat":
      return createHeartbeatReceiver(settings, deps);
  }
}
