import { runAtOnce } from "../../src/fleet/slices.ts";
import { emptySnapshot } from "../../src/fleet/snapshot.ts";
import { createListingReader } from "../../src/service/listing-reader.ts";

const reader = await createListingReader();

/** Reads what JSON makes of the value, as the client does with a body. */
export function read(body: unknown) {
  const outcome = runAtOnce(reader.read(Buffer.from(JSON.stringify(body)), emptySnapshot, 0));
  if (outcome.kind === "refused") return { listing: undefined, deviations: [] };
  const { sandboxes, complete } = outcome.listing;
  return {
    listing: { sandboxes, complete },
    deviations: outcome.deviations.map(({ field, problem, count }) => [field, problem, count]),
  };
}

export function listing(sandboxes: readonly unknown[], totalCount = sandboxes.length) {
  return { local_sandboxes: sandboxes, total_count: totalCount };
}

export const server = {
  id: "v1",
  server_name: "github",
  mcp_server_url: "https://host/github/mcp/?token=t",
  status: "occupied",
  benchmark: "MCP_Atlas",
  updated_at: "2026-02-16T12:45:25.770231-08:00",
  metadata: { anything: [1, { at: "all" }] },
  auth_data: { token: "t" },
  tags: ["prod"],
};
export const sandbox = {
  local_sandbox_id: "s1",
  created_at: "2026-02-16T12:45:25.770231-08:00",
  status: "idle",
  benchmark: null,
  servers: [server],
};
export const listedServer = {
  id: "v1",
  name: "github",
  status: "occupied",
  benchmark: "MCP_Atlas",
  tags: ["prod"],
};
export const listedSandbox = {
  id: "s1",
  status: "idle",
  benchmark: null,
  servers: [listedServer],
};
