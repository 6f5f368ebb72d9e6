import { z } from "zod";

/** An alert event, by https://developer.pagerduty.com/docs/send-alert-event. */
export const pagerdutyEventSchema = z.strictObject({
  routing_key: z.string().length(32),
  event_action: z.enum(["trigger", "acknowledge", "resolve"]),
  dedup_key: z.string().min(1).max(255),
  client: z.string(),
  client_url: z.url().optional(),
  payload: z.strictObject({
    summary: z.string().trim().min(1).max(1_024),
    source: z.string().min(1),
    severity: z.enum(["critical", "error", "warning", "info"]),
    timestamp: z.iso.datetime(),
    component: z.string().min(1).optional(),
    group: z.string().min(1).optional(),
    class: z.string().min(1).optional(),
    custom_details: z
      .object({
        count: z.string(),
        incidents: z.array(z.string()),
        labels: z.record(z.string(), z.string()).optional(),
      })
      .catchall(z.string()),
  }),
  links: z.array(z.strictObject({ href: z.url(), text: z.string() })).optional(),
});

export type PagerdutyEvent = z.infer<typeof pagerdutyEventSchema>;

export const largestEvent = 512 * 1_000;

/** @throws {Error} when PagerDuty would refuse it */
export function readPagerdutyEvent(body: string): PagerdutyEvent {
  if (Buffer.byteLength(body) > largestEvent) throw new Error("the event is too large");
  return pagerdutyEventSchema.parse(JSON.parse(body));
}

/**
 * The alerts that PagerDuty has, by its documentation: a trigger opens an alert, or is logged with the open one of its
 * `dedup_key`; other events are dropped where none is open.
 */
export function pagerdutyState() {
  const open = new Map<
    string,
    { readonly state: "triggered" | "acknowledged"; last: PagerdutyEvent }
  >();
  let opened = 0;
  return {
    open,
    /** How often somebody was paged. */
    get opened() {
      return opened;
    },
    take(event: PagerdutyEvent): void {
      const { event_action: action, dedup_key: key } = event;
      const known = open.get(key);
      if (action === "trigger") {
        if (!known) opened += 1;
        open.set(key, { state: known?.state ?? "triggered", last: event });
      } else if (known && action === "resolve") open.delete(key);
      else if (known) open.set(key, { state: "acknowledged", last: event });
    },
  };
}
