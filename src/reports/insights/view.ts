import { z } from "zod";
import { weekdays } from "../cells.ts";

/** Insights as they go over the wire, and as they are printed. */

const target = { region: z.string(), key: z.string() };
const server = {
  ...target,
  sandbox_id: z.string(),
  server_id: z.string(),
  server_name: z.string().nullable(),
};
const errantServers = z
  .array(z.object({ ...server, errors: z.number(), error_seconds: z.number() }))
  .readonly();

export const insightsView = z.object({
  from: z.string(),
  to: z.string(),
  tz: z.string(),
  /** Null: not even one whole week was watched. */
  busiest_hour: z
    .object({
      weekday: z.enum(weekdays),
      hour: z.number(),
      occupied_share: z.number(),
      weeks: z.number(),
    })
    .nullable(),
  erred_most_often: errantServers,
  erred_longest: errantServers,
  ran_out: z
    .array(
      z.object({
        ...target,
        server_name: z.string(),
        exhausted_seconds: z.number(),
        /** Hours of the calendar in which it happened. */
        hours: z.number(),
      }),
    )
    .readonly(),
  occupied_long: z
    .array(
      z.object({
        ...server,
        occupied_seconds: z.number(),
        /** False: for at least so long. */
        exact: z.boolean(),
        /** 95 of 100 stays of the name were shorter. */
        usual_seconds: z.number(),
      }),
    )
    .readonly(),
  forecast: z.object({
    threshold: z.number(),
    /** When the occupied share would pass it; null: see `reason`. */
    passes_at: z.string().nullable(),
    rise_per_week: z.number().nullable(),
    reason: z.enum(["too_little", "passed_already", "no_rise", "too_far"]).nullable(),
  }),
});
export type InsightsView = z.output<typeof insightsView>;
