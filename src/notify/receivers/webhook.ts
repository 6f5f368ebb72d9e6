import { Webhook } from "standardwebhooks";
import { fillBody } from "../../core/body-template.ts";
import type { Json } from "../../core/body-template.ts";
import type { Notification } from "../../core/notification.ts";
import type { Secret } from "../../platform/secret.ts";
import { createOutbound, readAnswer } from "../outbound.ts";
import type { OutboundDeps } from "../outbound.ts";
import type { Receiver } from "../receiver.ts";
import { renderAlertmanagerBody } from "./alertmanager-body.ts";
import { parseReceiverUrl } from "./receiver-url.ts";
import { renderWebhookBody } from "./webhook-body.ts";

export interface WebhookReceiverSettings {
  readonly name: string;
  readonly type: "webhook";
  readonly url: Secret;
  /** `whsec_` and base64, as Standard Webhooks has it; null: messages go unsigned. */
  readonly secret: Secret | null;
  readonly format: "sandwatch" | "alertmanager";
  /** A body with placeholders in its texts, as JSON, in the place of `format`; null: none. */
  readonly bodyTemplate: Secret | null;
}

/**
 * Posts notifications as Standard Webhooks, in any of the forms that a body can have.
 *
 * @throws {Error} when the address or the signing secret cannot be used; it shows neither
 */
export function createWebhookReceiver(
  settings: WebhookReceiverSettings,
  deps: OutboundDeps,
): Receiver {
  const url = parseReceiverUrl(settings);
  const signer = createSigner(settings);
  const render = chooseBody(settings);
  const outbound = createOutbound(deps);

  return {
    name: settings.name,
    async send(notification, signal) {
      const nowMs = deps.clock.now().utcMs;
      const body = render(notification, nowMs);
      const signed = signedHeaders(notification, body, nowMs, signer);
      const headers = { "content-type": "application/json", ...signed };
      const answer = await outbound.post({ url, body, headers }, signal);
      return answer.kind === "answered" ? readAnswer(answer) : answer;
    },
    close: () => outbound.close(),
  };
}

type RenderBody = (notification: Notification, nowMs: number) => string;

function chooseBody({ format, bodyTemplate }: WebhookReceiverSettings): RenderBody {
  if (bodyTemplate !== null) {
    const template: Json = JSON.parse(bodyTemplate.reveal());
    return (notification, nowMs) => JSON.stringify(fillBody(template, notification, nowMs));
  }
  switch (format) {
    case "sandwatch":
      return renderWebhookBody;
    case "alertmanager":
      return renderAlertmanagerBody;
  }
}

function signedHeaders(
  { id }: Notification,
  body: string,
  nowMs: number,
  signer: Webhook | null,
): Record<string, string> {
  const headers = { "webhook-id": id, "webhook-timestamp": String(Math.floor(nowMs / 1_000)) };
  if (!signer) return headers;
  return { ...headers, "webhook-signature": signer.sign(id, new Date(nowMs), body) };
}

function createSigner({ name, secret }: WebhookReceiverSettings): Webhook | null {
  if (!secret) return null;
  try {
    return new Webhook(secret.reveal());
  } catch {
    throw new Error(`The secret of receiver ${name} is not whsec_ followed by base64.`);
  }
}
