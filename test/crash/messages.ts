import { z } from "zod";

/** What the parent gives a victim at its start. */
export const victimSettingsSchema = z.object({
  settings: z.unknown(),
  /** Write the outbox after the poll's transaction instead of within it: what must be caught. */
  outboxOutside: z.boolean(),
});
export type VictimSettings = z.infer<typeof victimSettingsSchema>;

/** The parent's answer to a victim that has done all there was to do. */
export const orderSchema = z.object({
  /** At which statement from now on the victim is killed. */
  killAtStatement: z.int(),
});
export type Order = z.infer<typeof orderSchema>;
