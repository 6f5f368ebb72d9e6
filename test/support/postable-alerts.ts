import { z } from "zod";

const labelName = z.string().regex(/^[a-zA-Z_][a-zA-Z0-9_]*$/);

/**
 * `postableAlerts` of Alertmanager's OpenAPI specification for its API v2, and what its server asks
 * beyond that: names of labels as Prometheus has them, at least one label, no end before the start.
 */
export const postableAlertsSchema = z.array(
  z
    .strictObject({
      labels: z.record(labelName, z.string().min(1)).refine((labels) => labels["alertname"]),
      annotations: z.record(labelName, z.string()),
      startsAt: z.iso.datetime(),
      endsAt: z.iso.datetime(),
      generatorURL: z.url().optional(),
    })
    .refine(({ startsAt, endsAt }) => Date.parse(endsAt) >= Date.parse(startsAt)),
);

export type PostedAlert = z.infer<typeof postableAlertsSchema>[number];
