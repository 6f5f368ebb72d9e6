import type { Secret } from "../../platform/secret.ts";
import { createOutbound, readAnswer } from "../outbound.ts";
import type { OutboundDeps } from "../outbound.ts";
import type { Receiver, SendResult } from "../receiver.ts";
import { renderPagerdutyEvent } from "./pagerduty-event.ts";
import { parseReceiverUrl } from "./receiver-url.ts";

export interface PagerdutyReceiverSettings {
  readonly name: string;
  readonly type: "pagerduty";
  /** Where events are sent. */
  readonly url: Secret;
  /** The integration key of the service that is to be alerted. */
  readonly routingKey: Secret;
}

/**
 * Sends each incident as an event of PagerDuty's Events API v2.
 *
 * @throws {Error} when the address cannot be used; it does not show it
 */
export function createPagerdutyReceiver(
  settings: PagerdutyReceiverSettings,
  deps: OutboundDeps,
): Receiver {
  const url = parseReceiverUrl(settings);
  const outbound = createOutbound(deps);
  const headers = { "content-type": "application/json" };

  return {
    name: settings.name,
    async send(notification, signal) {
      const nowMs = deps.clock.now().utcMs;
      // Messages hold one incident each, but those composed before the receiver became a PagerDuty
      // one. Sent again, an event that had arrived changes nothing.
      for (const incident of notification.incidents) {
        const key = settings.routingKey.reveal();
        const body = renderPagerdutyEvent(key, notification, incident, nowMs);
        const answer = await outbound.post({ url, body, headers }, signal);
        const result = answer.kind === "answered" ? readAnswer(answer) : answer;
        if (result.kind === "failed") return result;
      }
      return delivered;
    },
    close: () => outbound.close(),
  };
}

const delivered: SendResult = { kind: "delivered" };
