import { Webhook } from "standardwebhooks";
import { Agent, request, type Dispatcher } from "undici";
import type { Notification } from "../../core/notification.ts";
import type { Clock } from "../../platform/clock.ts";
import { parseRetryAfter } from "../../platform/retry-after.ts";
import type { Secret } from "../../platform/secret.ts";
import type { AttemptFailure, AttemptFailureReason, Receiver, SendResult } from "../receiver.ts";
import { renderWebhookBody } from "./webhook-body.ts";

export interface WebhookReceiverSettings {
  readonly name: string;
  readonly url: Secret;
  /** `whsec_` and base64, as Standard Webhooks has it; null: messages go unsigned. */
  readonly secret: Secret | null;
}

export interface WebhookReceiverDeps {
  readonly clock: Clock;
  /** What the header `user-agent` says. */
  readonly userAgent: string;
}

/** The answer is read so far, to keep the connection, and thrown away. */
const maxAnswerBytes = 64 * 1024;

/**
 * Posts notifications as Standard Webhooks. The loop's signal is the only time-out.
 *
 * @throws {Error} when the address or the signing secret cannot be used; it shows neither
 */
export function createWebhookReceiver(
  settings: WebhookReceiverSettings,
  { clock, userAgent }: WebhookReceiverDeps,
): Receiver {
  const url = parseUrl(settings);
  const signer = createSigner(settings);
  const agent = new Agent({ headersTimeout: 0, bodyTimeout: 0, allowH2: false });

  return {
    name: settings.name,
    async send(notification, signal) {
      const nowMs = clock.now().utcMs;
      const body = renderWebhookBody(notification);
      try {
        const answer = await request(url, {
          method: "POST",
          dispatcher: agent,
          signal,
          body,
          headers: {
            "content-type": "application/json",
            "user-agent": userAgent,
            ...signedHeaders(notification, body, nowMs, signer),
          },
        });
        // The status is the receiver's word: what becomes of the rest of its answer is no matter.
        await answer.body.dump({ limit: maxAnswerBytes, signal }).catch(() => {});
        return readAnswer(answer, clock.now().utcMs);
      } catch (error) {
        return readNetworkError(error);
      }
    },
    close: () => agent.destroy(),
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

function readAnswer(answer: Dispatcher.ResponseData, nowMs: number): SendResult {
  const { statusCode, headers } = answer;
  if (statusCode >= 200 && statusCode < 300) return { kind: "delivered" };
  const retryAfter = [headers["retry-after"]].flat()[0];
  const retryAfterMs = parseRetryAfter(retryAfter, nowMs);
  return failed(readStatus(statusCode), `HTTP ${statusCode}`, retryAfterMs);
}

function readStatus(statusCode: number): AttemptFailureReason {
  if (statusCode >= 500) return "server_error";
  if (statusCode === 408) return "timeout";
  // 425 Too Early asks for the same as 429: to come again later.
  if (statusCode === 429 || statusCode === 425) return "rate_limited";
  if (statusCode === 410) return "gone";
  return statusCode >= 400 ? "rejected" : "redirect";
}

/** Only the error's code is used: its message can hold the address. */
function readNetworkError(error: unknown): AttemptFailure {
  const code =
    error instanceof Error && "code" in error && typeof error.code === "string"
      ? error.code
      : "unknown";
  return failed(/TIMEOUT|TIMEDOUT/.test(code) ? "timeout" : "network", code, null);
}

function failed(
  reason: AttemptFailureReason,
  detail: string,
  retryAfterMs: number | null,
): AttemptFailure {
  return { kind: "failed", reason, detail, retryAfterMs };
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
