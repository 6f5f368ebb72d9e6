import { z } from "zod";

/**
 * The resources of the service's interface document, field by field, under its names. What holds and what may
 * be null is as the document states it; where it leaves a gap, the service's own public examples fill it, and
 * the field says so. They promise nothing of further fields.
 *
 * `shown` says that a look-up may show the field: `true` for a value that is not secret, `"address"` for an address, of
 * which only scheme and host are shown. Every other field is masked.
 */

declare module "zod/v4/core" {
  interface GlobalMeta {
    readonly shown?: true | "address";
  }
}

export const statusSchema = z
  .enum(["idle", "occupied", "error"])
  .meta({ id: "SandboxStatus", description: "Status of a sandbox or of a server in one" });

const freeForm = z.record(z.string(), z.unknown());

export const serverSchema = z
  .object({
    id: z.string().meta({
      shown: true,
      description: "Unique identifier of this server instance within the sandbox",
    }),
    server_name: z.string().nullish().meta({ shown: true, description: "Name of the MCP server" }),
    mcp_server_url: z
      .string()
      .nullish()
      .meta({ shown: "address", description: "URL for connecting to this MCP server instance" }),
    status: statusSchema
      .nullish()
      .meta({ shown: true, description: "Current status of this server's sandbox" }),
    benchmark: z
      .string()
      .nullish()
      .meta({ shown: true, description: "Benchmark environment configuration" }),
    updated_at: z.string().nullish().meta({ shown: true, description: "Time of last update" }),
    metadata: freeForm.nullish().meta({ description: "Additional metadata for the sandbox" }),
    auth_data: freeForm.nullish().meta({ description: "Authentication data for the sandbox" }),
    tags: z.array(z.string()).nullish().meta({ shown: true, description: "Sandbox tags" }),
  })
  .meta({ id: "LocalSandboxServerItem" });

export const sandboxSchema = z
  .object({
    local_sandbox_id: z
      .string()
      .meta({ shown: true, description: "Unique identifier of the local sandbox environment" }),
    created_at: z.string().meta({ shown: true, description: "Time the sandbox was created" }),
    status: statusSchema
      .nullish()
      .meta({ shown: true, description: "Current status of the sandbox" }),
    benchmark: z
      .string()
      .nullish()
      .meta({ shown: true, description: "Benchmark environment configuration of the sandbox" }),
    servers: z.array(serverSchema).meta({ description: "MCP servers in this sandbox" }),
  })
  .meta({ id: "LocalSandboxInfo" });

export const listingSchema = z
  .object({
    local_sandboxes: z.array(sandboxSchema).meta({
      description: "All local sandbox environments",
    }),
    total_count: z.int().meta({ shown: true, description: "Total number of local sandboxes" }),
  })
  .meta({ id: "ListLocalSandboxesResponse" });

export const userSchema = z
  .object({
    userId: z.string().meta({ shown: true, description: "Identifier of the user" }),
    createdAt: z.string().meta({ shown: true, description: "Creation time" }),
    lastUsedAt: z.string().nullish().meta({
      shown: true,
      description: "Time of last use. Public examples of the service have it null or absent.",
    }),
  })
  .meta({ id: "User" });

export const universeSchema = z
  .object({
    universe_id: z.string().meta({ shown: true, description: "Identifier of the universe" }),
    name: z.string().meta({ shown: true, description: "Name" }),
    description: z.string().meta({ shown: true, description: "Description" }),
    domain: z.string().meta({ shown: true, description: "Domain of the universe" }),
    personas: z.array(freeForm).meta({ description: "Personas of the universe" }),
    task_nums: z.array(z.string()).meta({ shown: true, description: "Task numbers" }),
    created_at: z.iso
      .datetime({ offset: true, local: true })
      .meta({ shown: true, description: "Creation time, as ISO 8601 has it", format: "date-time" }),
  })
  .meta({ id: "Universe" });

export const universesSchema = z
  .object({ universes: z.array(universeSchema) })
  .meta({ id: "ListUniversesResponse" });

/** The document shows no shape for it. */
export const universeDataSchema = z
  .unknown()
  .meta({ description: "Initial data for all services; its shape is not shown" });

export const whiteLabelSchema = z
  .object({
    success: z.boolean().meta({ shown: true, description: "Whether the operation succeeded" }),
    data: freeForm.nullish().meta({ description: "The white-labeling data if successful" }),
    message: z
      .string()
      .nullish()
      .meta({ shown: true, description: "Error message if unsuccessful" }),
  })
  .meta({ id: "WhiteLabelResponse" });

export const validationEntrySchema = z
  .object({
    loc: z.array(z.union([z.string(), z.int()])).meta({
      description: "Location of the faulty input. Public examples have positions in lists in it.",
    }),
    msg: z.string().meta({ description: "Message" }),
    type: z.string().meta({ description: "Error type" }),
    input: z.unknown().optional().meta({ description: "The input that was rejected" }),
    ctx: freeForm.optional().meta({ description: "Additional context" }),
  })
  .meta({ id: "ValidationError" });

export const validationSchema = z
  .object({
    detail: z.array(validationEntrySchema).optional().meta({
      description: "What is wrong. The service's public material lets it be absent.",
    }),
  })
  .meta({ id: "HTTPValidationError" });

/** Longer ids and texts are not kept, which is a deviation as well. */
export const maxIdLength = 512;
export const maxNameLength = 256;

const keptId = z.string().min(1).max(maxIdLength);
const keptName = z.string().max(maxNameLength);

export const keptServerSchema = serverSchema.extend({
  id: keptId,
  server_name: keptName.nullish(),
  benchmark: keptName.nullish(),
  tags: z.array(keptName).nullish(),
});

export const keptSandboxSchema = sandboxSchema.extend({
  local_sandbox_id: keptId,
  benchmark: keptName.nullish(),
  servers: z.array(keptServerSchema),
});

export const keptListingSchema = listingSchema.extend({
  local_sandboxes: z.array(keptSandboxSchema),
});
