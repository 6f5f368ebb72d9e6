import type { Notification } from "../../alerts/notification.ts";
import type { Secret } from "../../lib/secret.ts";
import type { Answer, SenderDeps } from "../outbound.ts";
import type { Receiver, SendResult } from "../receiver.ts";

interface ChatService {
  readonly name: string;
  readonly url: URL;
  readonly secretHeaders?: ReadonlyMap<string, Secret>;
  readonly restMs: number;
  /** The body, as JSON. */
  readonly messageOf: (
    notification: Notification,
    nowMs: number,
    externalUrl: string | null,
  ) => object;
  readonly readAnswer?: (answer: Answer) => SendResult;
}

/** A receiver that posts each notification as one message for people. */
export function createChatReceiver(
  { outbound, clock, externalUrl = null }: SenderDeps,
  { name, url, secretHeaders, restMs, messageOf, readAnswer }: ChatService,
): Receiver {
  const headers = { "content-type": "application/json" };
  return {
    name,
    restMs,
    send(notification, signal) {
      const body = JSON.stringify(messageOf(notification, clock.now().utcMs, externalUrl));
      const request = { url, body, headers, ...(secretHeaders && { secretHeaders }) };
      return outbound.send(request, signal, readAnswer);
    },
  };
}
