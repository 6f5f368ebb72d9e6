import { z } from "zod";

/** An alert event, by https://developer.pagerduty.com/docs/send-alert-event. */
export const pagerdutyEventSchema = z.strictObject({
  routing_key: z.string().length(32),
  event_action: z.enum(["trigger", "acknowledge", "resolve"]),
  dedup_key: z.string().min(1).max(255),
  client: z.string(),
  payload: z.strictObject({
    summary: z.string().min(1).max(1_024),
    source: z.string().min(1),
    severity: z.enum(["critical", "error", "warning", "info"]),
    timestamp: z.iso.datetime(),
    component: z.string().min(1).optional(),
    group: z.string().min(1).optional(),
    class: z.string().min(1).optional(),
    custom_details: z.record(z.string(), z.string()),
  }),
  links: z.array(z.strictObject({ href: z.url(), text: z.string() })).optional(),
});

export const largestEvent = 512 * 1_000;
