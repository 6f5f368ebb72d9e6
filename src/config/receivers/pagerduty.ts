import { z } from "zod";
import { Secret } from "../../platform/secret.ts";
import type { PagerdutyReceiverConfig } from "../config.ts";
import { duration, flag, name, scalar, settings } from "../fields.ts";
import { giveUpAfter, receiverUrl } from "./common.ts";

const routingKeyAllowed =
  "an integration key of 32 characters without blanks, or routing_key_file beside it";

export const pagerdutySchema = settings(
  {
    name: name(),
    type: z.literal("pagerduty"),
    routing_key: scalar(routingKeyAllowed, (value) =>
      typeof value === "string" && /^[\x21-\x7e]{32}$/.test(value) ? new Secret(value) : undefined,
    ),
    url: receiverUrl().prefault("https://events.pagerduty.com/v2/enqueue"),
    allow_http: flag().default(false),
    group_wait: duration("0s").default(0),
    send_resolved: flag().default(true),
    send_acknowledged: flag().default(true),
    give_up_after: giveUpAfter(),
  },
  ["url_file", "routing_key_file"],
).transform((receiver): PagerdutyReceiverConfig => ({
  name: receiver.name,
  type: receiver.type,
  url: receiver.url,
  routingKey: receiver.routing_key,
  sendResolved: receiver.send_resolved,
  sendAcknowledged: receiver.send_acknowledged,
  giveUpAfterMs: receiver.give_up_after,
  ...oneIncidentEach(receiver.group_wait),
}));

/** PagerDuty does the grouping itself, of alerts that are one incident each. */
function oneIncidentEach(groupWaitMs: number) {
  return {
    groupBy: ["incident"],
    groupWaitMs,
    groupIntervalMs: 0,
    mergeAbove: Number.POSITIVE_INFINITY,
    maxIncidents: 1,
  } as const;
}
