import type { OutboundDeps } from "../outbound.ts";
import type { Receiver } from "../receiver.ts";
import { createPagerdutyReceiver, type PagerdutyReceiverSettings } from "./pagerduty.ts";
import { createSlackReceiver, type SlackReceiverSettings } from "./slack.ts";
import { createWebhookReceiver, type WebhookReceiverSettings } from "./webhook.ts";

export type ReceiverSettings =
  | WebhookReceiverSettings
  | SlackReceiverSettings
  | PagerdutyReceiverSettings;

/** @throws {Error} when the settings cannot be used; it shows no secret */
export function createReceiver(settings: ReceiverSettings, deps: OutboundDeps): Receiver {
  switch (settings.type) {
    case "webhook":
      return createWebhookReceiver(settings, deps);
    case "slack":
      return createSlackReceiver(settings, deps);
    case "pagerduty":
      return createPagerdutyReceiver(settings, deps);
  }
}
