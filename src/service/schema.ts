import { z } from "zod";
import * as promised from "../interface/resources.ts";

/**
 * What is a deviation, one schema a resource: what the interface promises of it, and how long texts may
 * be that are kept. They do not say what is taken: the parsers beside this file take what they can use.
 */

export const maxIdLength = 512;
export const maxNameLength = 256;

const id = z.string().min(1).max(maxIdLength);
const name = z.string().max(maxNameLength).nullish();
/** The items are looked at one by one where they are read: each refused one costs memory here. */
const list = z.array(z.unknown());

export const listingSchema = promised.listingSchema.extend({ local_sandboxes: list });

export const sandboxSchema = promised.sandboxSchema.extend({
  local_sandbox_id: id,
  benchmark: name,
  servers: list,
});

export const serverSchema = promised.serverSchema.extend({
  id,
  server_name: name,
  benchmark: name,
  tags: list.nullish(),
});

export const universesSchema = promised.universesSchema.extend({ universes: list });

export const universeSchema = promised.universeSchema.extend({ personas: list, task_nums: list });

export const validationSchema = promised.validationSchema.extend({ detail: list.optional() });

export const validationEntrySchema = promised.validationEntrySchema.extend({ loc: list });

export { userSchema, whiteLabelSchema } from "../interface/resources.ts";
