import { z } from "zod";
import {
  sandboxSchema,
  serverSchema,
  universeSchema,
  userSchema,
  whiteLabelSchema,
} from "../service/schemas.ts";

const count = z.int().min(0).max(100_000);

/** So many that are made up, or these. */
function countOr<Item extends z.ZodType>(item: Item) {
  return z.union([count, z.array(item)], "a number of them, or a list of them").optional();
}

const regionContentSchema = z.strictObject({
  /** In each listing. */
  servers: count.optional(),
  users: countOr(userSchema.strict()),
  universes: countOr(universeSchema.strict()),
  /** By universe id; of a universe that is not named here it is made up. */
  universe_data: z.record(z.string(), z.json()).optional(),
  /** By client id. */
  white_labels: z.union([count, z.record(z.string(), whiteLabelSchema.strict())]).optional(),
  /** The listing of every key, instead of one that is made up. */
  local_sandboxes: z
    .array(sandboxSchema.extend({ servers: z.array(serverSchema.strict()) }).strict())
    .optional(),
});

/** What a region holds; of what is left out, it holds what is made up. */
export type RegionContent = z.output<typeof regionContentSchema>;

/** The content of a data file: what each region holds, by its name. */
export const contentSchema = z.record(z.string(), regionContentSchema);
