import { z } from "zod";

/**
 * What the service's interface document promises, one schema a resource. They say what is a
 * deviation, not what is taken: the parsers beside this file take what they can use.
 */

export const maxIdLength = 512;
export const maxNameLength = 256;

const id = z.string().min(1).max(maxIdLength);
const name = z.string().max(maxNameLength).nullish();
const time = z.string();
const status = z.enum(["idle", "occupied", "error"]).nullish();
const freeForm = z.record(z.string(), z.unknown()).nullish();
/** The items are looked at one by one where they are read: each refused one costs memory here. */
const list = z.array(z.unknown());

export const listingSchema = z.object({
  local_sandboxes: list,
  total_count: z.int(),
});

export const sandboxSchema = z.object({
  local_sandbox_id: id,
  created_at: time,
  status,
  benchmark: name,
  servers: list,
});

export const serverSchema = z.object({
  id,
  server_name: name,
  mcp_server_url: z.string().nullish(),
  status,
  benchmark: name,
  updated_at: time.nullish(),
  metadata: freeForm,
  auth_data: freeForm,
  tags: list.nullish(),
});

/** `lastUsedAt` may be null or absent, as the service's own examples show. */
export const userSchema = z.object({
  userId: z.string(),
  createdAt: time,
  lastUsedAt: time.nullish(),
});

export const universesSchema = z.object({ universes: list });

export const universeSchema = z.object({
  universe_id: z.string(),
  name: z.string(),
  description: z.string(),
  domain: z.string(),
  personas: list,
  task_nums: list,
  created_at: time,
});

/** `data` and `message` exclude each other. */
export const whiteLabelSchema = z.object({
  success: z.boolean(),
  data: freeForm,
  message: z.string().nullish(),
});
