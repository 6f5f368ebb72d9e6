import { validateDetailed } from "node-cron";
import { z } from "zod";
import type { Schedule } from "../core/schedule.ts";
import { duration } from "./fields.ts";
import { notBoth, textLike } from "./written.ts";

const cronAllowed =
  "a cron expression, best of six fields with seconds first, such as */30 * * * * *";

/** Five or six fields or a nickname; what they hold is not looked at. */
const cronLike = textLike(/^\s*(?:@\S+|\S+(?:\s+\S+){4,5})\s*$/);

const scheduleSchema = z
  .unknown()
  .transform((value, context): Schedule => {
    const verdict = typeof value === "string" ? validateDetailed(value) : undefined;
    if (typeof value === "string" && verdict?.valid) return { kind: "cron", expression: value };
    const field = verdict?.errors.find((error) => error.field !== "expression")?.field;
    const wrong = field === undefined ? "" : ` (wrong here: ${field})`;
    context.addIssue({ code: "custom", message: cronAllowed + wrong });
    return z.NEVER;
  })
  .meta({ ...cronLike, errorMessage: cronAllowed });

const everySchema = duration("1s", "7d").transform((ms): Schedule => ({ kind: "every", ms }));

/** When something is done again and again: `oneSchedule` of the two. */
export const scheduleSettings = (what: string, usual: string) => ({
  schedule: scheduleSchema.optional().meta({
    description: `${what}, in the machine's time zone. Each target has a moment of its own after it, so that not all begin together.`,
    leftOut: `as \`every\` says; left out too: \`${usual}\``,
  }),
  every: everySchema.optional().meta({
    description: `${what}, instead of \`schedule\`: once in so long.`,
    leftOut: "as `schedule` says",
  }),
});

export const oneSchedule = notBoth("schedule", "every");
