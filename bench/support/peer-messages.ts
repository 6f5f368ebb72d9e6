import { z } from "zod";

export const fleetOrderSchema = z.object({
  name: z.string(),
  seed: z.number(),
  servers: z.number(),
});

export const stepSchema = z.discriminatedUnion("kind", [
  z.object({ kind: z.literal("same") }),
  z.object({ kind: z.literal("change"), share: z.number() }),
  z.object({ kind: z.literal("touch") }),
  z.object({ kind: z.literal("shuffle") }),
  z.object({ kind: z.literal("break one") }),
]);

/** What becomes of a fleet between two polls. */
export type Step = z.infer<typeof stepSchema>;

export const stepOrderSchema = z.object({ name: z.string(), step: stepSchema });

export const preparedSchema = z.object({
  bytes: z.number(),
  servers: z.number(),
  counts: z.object({ idle: z.number(), occupied: z.number(), error: z.number() }),
});

/** A listing that the peer now serves. */
export type Prepared = z.infer<typeof preparedSchema>;
