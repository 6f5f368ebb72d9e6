import { draw, mix, pick } from "./hash.ts";
import { formatTimestamp, offsetHoursOf } from "./region-time.ts";
import type { SimulatedSandbox, SimulatedServer } from "./world.ts";

/**
 * Stands in every simulated token, so that a test can search all that a program puts out for what
 * must never leave it.
 */
const secretMarker = "simulated-secret";

const purpose = { metadata: 11, authData: 12, token: 13, refreshToken: 14, owner: 15 };
const owners = ["agents", "evaluation", "data"] as const;

/** A sandbox with exactly the fields of the interface document, as JSON. */
export function sandboxJson(sandbox: SimulatedSandbox, region: string): string {
  const offsetHours = offsetHoursOf(region);
  return JSON.stringify({
    local_sandbox_id: sandbox.sandboxId,
    created_at: formatTimestamp(sandbox.createdAtMs, offsetHours, sandbox.seed),
    status: sandbox.status,
    benchmark: sandbox.benchmark,
    servers: sandbox.servers.map((server) => serverFields(server, region, offsetHours)),
  });
}

function serverFields(server: SimulatedServer, region: string, offsetHours: number) {
  return {
    id: server.serverId,
    server_name: server.serverName,
    mcp_server_url: serverUrl(region, server.serverName, server.sandboxId),
    status: server.status,
    benchmark: server.benchmark,
    updated_at: formatTimestamp(
      server.updatedAtMs,
      offsetHours,
      mix(server.seed, server.updatedAtMs),
    ),
    metadata: drawMetadata(server),
    auth_data: drawAuthData(server),
    tags: server.tags,
  };
}

function serverUrl(region: string, serverName: string, sandboxId: string): string {
  const host = `sandboxes-${encodeURIComponent(region)}.example.com`;
  return `https://${host}/${serverName}/mcp/?local_sandbox_id=${sandboxId}`;
}

function drawMetadata({ seed }: SimulatedServer) {
  if (draw(seed, purpose.metadata) >= 0.1) return null;
  return {
    owner: pick(owners, seed, purpose.owner),
    image: `registry.example.com/mcp:${mix(seed, purpose.metadata) % 100}`,
    session: tokenOf(seed, purpose.metadata),
  };
}

function drawAuthData({ seed, serverName }: SimulatedServer) {
  if (draw(seed, purpose.authData) >= 0.08) return null;
  return {
    provider: serverName,
    access_token: tokenOf(seed, purpose.token),
    refresh_token: tokenOf(seed, purpose.refreshToken),
    token_type: "Bearer",
    expires_in: 3600,
  };
}

function tokenOf(seed: number, forWhat: number): string {
  const words = [1, 2, 3].map((word) => mix(mix(seed, forWhat), word).toString(36));
  return `${secretMarker}-${words.join("")}`;
}
