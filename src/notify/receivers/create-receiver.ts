import type { Receiver } from "../receiver.ts";
import { createAlertmanagerReceiver } from "./alertmanager.ts";
import type { AlertmanagerReceiverDeps, AlertmanagerReceiverSettings } from "./alertmanager.ts";
import { createHeartbeatReceiver } from "./heartbeat.ts";
import type { HeartbeatReceiverDeps, HeartbeatReceiverSettings } from "./heartbeat.ts";
import { createPagerdutyReceiver, type PagerdutyReceiverSettings } from "./pagerduty.ts";
import { createSlackReceiver, type SlackReceiverSettings } from "./slack.ts";
import { createWebhookReceiver, type WebhookReceiverSettings } from "./webhook.ts";

export type ReceiverSettings =
  | WebhookReceiverSettings
  | SlackReceiverSettings
  | PagerdutyReceiverSettings
  | AlertmanagerReceiverSettings
  | HeartbeatReceiverSettings;

export interface ReceiverDeps extends AlertmanagerReceiverDeps, HeartbeatReceiverDeps {}

/** @throws {Error} when the settings cannot be used; it shows no secret */
export function createReceiver(settings: ReceiverSettings, deps: ReceiverDeps): Receiver {
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
