import { z } from "zod";
import { pagerdutySchema } from "./receivers/pagerduty.ts";
import { slackSchema } from "./receivers/slack.ts";
import { webhookSchema } from "./receivers/webhook.ts";

const types = "webhook, slack, pagerduty";

export const receiverSchema = z.discriminatedUnion(
  "type",
  [webhookSchema, slackSchema, pagerdutySchema],
  { error: (issue) => (issue.code === "invalid_union" ? types : "a mapping") },
);
