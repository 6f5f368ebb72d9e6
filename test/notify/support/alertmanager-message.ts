import { z } from "zod";

const label = z.string().regex(/^[a-zA-Z_][a-zA-Z0-9_]*$/);
const labels = z.record(label, z.string().min(1));

/**
 * Version 4 of what Alertmanager posts to webhooks, by
 * https://prometheus.io/docs/alerting/latest/configuration/#webhook_config.
 */
export const alertmanagerMessageSchema = z.strictObject({
  version: z.literal("4"),
  groupKey: z.string().min(1),
  truncatedAlerts: z.int().nonnegative(),
  status: z.enum(["firing", "resolved"]),
  receiver: z.string(),
  groupLabels: labels,
  commonLabels: labels,
  commonAnnotations: labels,
  externalURL: z.string(),
  /** `NotifyReason` in notify/notify.go. */
  notification_reason: z.enum([
    "first notification",
    "new alerts added",
    "some alerts resolved",
    "all alerts resolved",
    "repeat interval elapsed",
    "unknown",
  ]),
  alerts: z
    .array(
      z.strictObject({
        status: z.enum(["firing", "resolved"]),
        labels,
        annotations: labels,
        startsAt: z.iso.datetime(),
        endsAt: z.iso.datetime(),
        generatorURL: z.string(),
        fingerprint: z.string().regex(/^[0-9a-f]{16}$/),
      }),
    )
    .min(1),
});
