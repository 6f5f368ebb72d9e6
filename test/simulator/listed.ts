import { z } from "zod";

const nullableString = z.string().nullable();
const timestamp = z.string().regex(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}[+-]\d\d:00$/);
const uuid = z.string().regex(/^[\da-f]{8}-[\da-f]{4}-4[\da-f]{3}-[89ab][\da-f]{3}-[\da-f]{12}$/);

/** Strict: exactly the fields of the interface document, every one of them. */
export const listingSchema = z.strictObject({
  local_sandboxes: z.array(
    z.strictObject({
      local_sandbox_id: uuid,
      created_at: timestamp,
      status: nullableString,
      benchmark: nullableString,
      servers: z.array(
        z.strictObject({
          id: uuid,
          server_name: nullableString,
          mcp_server_url: nullableString,
          status: nullableString,
          benchmark: nullableString,
          updated_at: timestamp,
          metadata: z.record(z.string(), z.unknown()).nullable(),
          auth_data: z.record(z.string(), z.unknown()).nullable(),
          tags: z.array(z.string()).nullable(),
        }),
      ),
    }),
  ),
  total_count: z.int(),
});
export type WireListing = z.infer<typeof listingSchema>;

/** Reads an answer that must be a listing to the letter. */
export async function readListing(response: Response): Promise<WireListing> {
  return listingSchema.parse(await response.json());
}

/** The statuses of a listing by server id. */
export function statusesOf(listing: WireListing): ReadonlyMap<string, string | null> {
  return new Map(serversOf(listing).map(({ id, status }) => [id, status]));
}

export function serversOf(listing: WireListing) {
  return listing.local_sandboxes.flatMap(({ servers }) => servers);
}
