import { takesReports, type ReceiverConfig } from "../../config/schema-receivers.ts";
import { failed, type Receiver } from "../receiver.ts";
import { createAlertmanagerReceiver, type AlertmanagerDeps } from "./alertmanager.ts";
import { createChatReceiver } from "./chat-message.ts";
import { discord } from "./discord.ts";
import { createEmailReceiver, type EmailDeps } from "./email.ts";
import { createHeartbeatReceiver, type HeartbeatDeps } from "./heartbeat.ts";
import { ntfy } from "./ntfy.ts";
import { createPagerdutyReceiver } from "./pagerduty.ts";
import { createSlackAppReceiver, type SlackAppDeps } from "./slack-app.ts";
import { slack } from "./slack.ts";
import { teams } from "./teams.ts";
import { telegram } from "./telegram.ts";
import { createWebhookReceiver } from "./webhook.ts";

export interface ReceiverDeps extends AlertmanagerDeps, EmailDeps, HeartbeatDeps, SlackAppDeps {}

/**
 * The types of receivers.
 *
 * @throws {Error} when the settings cannot be used; the error contains no secret
 */
export function createReceiver(settings: ReceiverConfig, deps: ReceiverDeps): Receiver {
  const receiver = createOfType(settings, deps);
  if (takesReports(settings)) return receiver;
  return {
    ...receiver,
    // It was of another type when a report was due.
    send: async (notification, ...attempt) =>
      notification.type === "report"
        ? failed("rejected", "it takes no reports")
        : receiver.send(notification, ...attempt),
  };
}

function createOfType(settings: ReceiverConfig, deps: ReceiverDeps): Receiver {
  switch (settings.type) {
    case "webhook":
      return createWebhookReceiver(settings, deps);
    case "slack":
      return createChatReceiver(slack, settings, deps);
    case "slack_app":
      return createSlackAppReceiver(settings, deps);
    case "discord":
      return createChatReceiver(discord, settings, deps);
    case "teams":
      return createChatReceiver(teams, settings, deps);
    case "telegram":
      return createChatReceiver(telegram, settings, deps);
    case "ntfy":
      return createChatReceiver(ntfy, settings, deps);
    case "email":
      return createEmailReceiver(settings, deps);
    case "pagerduty":
      return createPagerdutyReceiver(settings, deps);
    case "alertmanager":
      return createAlertmanagerReceiver(settings, deps);
    case "heartbeat":
      return createHeartbeatReceiver(settings, deps);
  }
}
