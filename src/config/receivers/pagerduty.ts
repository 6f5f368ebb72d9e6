import { z } from "zod";
import { Secret } from "../../lib/secret.ts";
import { scalar, settings } from "../fields.ts";
import { textLike } from "../written.ts";
import { allowHttp, giveUpAfter, groupWait, receiverName, receiverUrl } from "./common.ts";
import { sendAcknowledged, sendResolved } from "./common.ts";

const routingKeyPattern = /^[\x21-\x7e]{32}$/;

const routingKeyAllowed =
  "an integration key of 32 characters without blanks, or routing_key_file beside it";

export const pagerdutySchema = settings(
  {
    name: receiverName(),
    type: z.literal("pagerduty").describe("Events through Events API v2, one alert per incident."),
    routing_key: scalar(routingKeyAllowed, (value) =>
      typeof value === "string" && routingKeyPattern.test(value) ? new Secret(value) : undefined,
    )
      .meta(textLike(routingKeyPattern))
      .describe("The integration key of a PagerDuty service with an Events API v2 integration."),
    url: receiverUrl()
      .prefault("https://events.pagerduty.com/v2/enqueue")
      .describe(
        "The address that events are sent to. For the EU service region: `https://events.eu.pagerduty.com/v2/enqueue`.",
      ),
    allow_http: allowHttp("url"),
    group_wait: groupWait("0s"),
    send_resolved: sendResolved(),
    send_acknowledged: sendAcknowledged(true),
    give_up_after: giveUpAfter(),
  },
  ["url_file", "routing_key_file"],
).transform((receiver) => ({
  name: receiver.name,
  type: receiver.type,
  url: receiver.url,
  routingKey: receiver.routing_key,
  sendResolved: receiver.send_resolved,
  sendAcknowledged: receiver.send_acknowledged,
  giveUpAfterMs: receiver.give_up_after,
  ...oneIncidentEach(receiver.group_wait),
}));

export type PagerdutyConfig = Readonly<z.output<typeof pagerdutySchema>>;

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
