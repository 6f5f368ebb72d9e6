import { z } from "zod";
import { alertmanagerSchema } from "./receivers/alertmanager.ts";
import { heartbeatSchema } from "./receivers/heartbeat.ts";
import { pagerdutySchema } from "./receivers/pagerduty.ts";
import { slackSchema } from "./receivers/slack.ts";
import { webhookSchema } from "./receivers/webhook.ts";

const types = "webhook, slack, pagerduty, alertmanager, heartbeat";

/** The settings of every type of receiver. */
export const receiverSchema = z.discriminatedUnion(
  "type",
  [webhookSchema, slackSchema, pagerdutySchema, alertmanagerSchema, heartbeatSchema],
  { error: (issue) => (issue.code === "invalid_union" ? types : "a mapping") },
);

export type ReceiverConfig = Readonly<z.output<typeof receiverSchema>>;
