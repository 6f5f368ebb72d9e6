import { Webhook } from "standardwebhooks";
import type { Notification } from "../../core/notification.ts";
import type { Secret } from "../../platform/secret.ts";
import { createOutbound, readAnswer } from "../outbound.ts";
import type { OutboundDeps } from "../outbound.ts";
import type { Receiver } from "../receiver.ts";
import { renderWebhookBody } from "./webhook-body.ts";

export interface WebhookReceiverSettings {
  readonly name: string;
  readonly url: Secret;
  /** `whsec_` and base64, as Standard Webhooks has it; null: messages go unsigned. */
  readonly secret: Secret | null;
}

export type WebhookReceiverDeps = OutboundDeps;

/**
 * Posts notifications as Standard Webhooks.
 *
 * @throws {Error} when the address or the signing secret cannot be used; it shows neither
 */
export function createWebhookReceiver(
  settings: WebhookReceiverSettings,
  deps: WebhookReceiverDeps,
): Receiver {
  const url = parseUrl(settings);
  const signer = createSigner(settings);
  const outbound = createOutbound(deps);

  return {
    name: settings.name,
    async send(notification, signal) {
      const body = renderWebhookBody(notification);
      const signed = signedHeaders(notification, body, deps.clock.now().utcMs, signer);
      const headers = { "content-type": "application/json", ...signed };
      const answer = await outbound.post({ url, body, headers }, signal);
      return answer.kind === "answered" ? readAnswer(answer) : answer;
    },
    close: () => outbound.close(),
  };
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

function parseUrl({ name, url }: WebhookReceiverSettings): URL {
  const parsed = URL.parse(url.reveal());
  if (parsed?.protocol === "https:" || parsed?.protocol === "http:") return parsed;
  throw new Error(`The url of receiver ${name} is no http or https address.`);
}

function createSigner({ name, secret }: WebhookReceiverSettings): Webhook | null {
  if (!secret) return null;
  try {
    return new Webhook(secret.reveal());
  } catch {
    throw new Error(`The secret of receiver ${name} is not whsec_ followed by base64.`);
  }
}
