import { validateDetailed } from "node-cron";
import { z } from "zod";
import type { Schedule } from "../core/schedule.ts";
import { duration } from "./fields.ts";

const cronAllowed =
  "a cron expression, best of six fields with seconds first, such as */30 * * * * *";

const scheduleSchema = z.unknown().transform((value, context): Schedule => {
  const verdict = typeof value === "string" ? validateDetailed(value) : undefined;
  if (typeof value === "string" && verdict?.valid) return { kind: "cron", expression: value };
  const field = verdict?.errors.find((error) => error.field !== "expression")?.field;
  const wrong = field === undefined ? "" : ` (wrong here: ${field})`;
  context.addIssue({ code: "custom", message: cronAllowed + wrong });
  return z.NEVER;
});

const everySchema = duration("1s", "7d").transform((ms): Schedule => ({ kind: "every", ms }));

/** When something is done again and again: one of the two. */
export const scheduleSettings = {
  schedule: scheduleSchema.optional(),
  every: everySchema.optional(),
};
