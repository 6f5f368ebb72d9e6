import { createDeviations } from "../../src/service/deviations.ts";
import { parseJson } from "../../src/service/json.ts";
import { parseListing } from "../../src/service/parse-listing.ts";

/** Reads what JSON makes of the value, as the client does with a body. */
export function read(body: unknown) {
  const parsed = parseJson(new TextEncoder().encode(JSON.stringify(body)));
  if (parsed.kind !== "json") throw new TypeError(parsed.detail);
  const deviations = createDeviations();
  return {
    listing: parseListing(parsed.value, deviations),
    deviations: deviations.list().map(({ field, problem, count }) => [field, problem, count]),
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
  serverId: "v1",
  serverName: "github",
  status: "occupied",
  benchmark: "MCP_Atlas",
  tags: ["prod"],
};
export const listedSandbox = {
  sandboxId: "s1",
  status: "idle",
  benchmark: null,
  servers: [listedServer],
};
