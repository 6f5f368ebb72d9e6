import { draw, mix, pick } from "./hash.ts";
import { offsetHoursOf } from "./server-status.ts";
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
  const host = `sandboxes-${encodeURIComponent(region)}.example.com`;
  return JSON.stringify({
    local_sandbox_id: sandbox.sandboxId,
    created_at: formatTimestamp(sandbox.createdAtMs, offsetHours, sandbox.seed),
    status: sandbox.status,
    benchmark: sandbox.benchmark,
    servers: sandbox.servers.map((server) => {
      const { serverName, updatedAtMs, seed } = server;
      return {
        id: server.serverId,
        server_name: serverName,
        mcp_server_url: `https://${host}/${serverName}/mcp/?local_sandbox_id=${sandbox.sandboxId}`,
        status: server.status,
        benchmark: server.benchmark,
        updated_at: formatTimestamp(updatedAtMs, offsetHours, mix(seed, updatedAtMs)),
        metadata: drawMetadata(seed),
        auth_data: drawAuthData(server),
        tags: server.tags,
      };
    }),
  });
}

function drawMetadata(seed: number) {
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

/**
 * As the service writes times, with microseconds and an offset: `2026-02-16T12:45:25.770231-08:00`.
 *
 * @param microsecond any integer: the three digits past the milliseconds are made of it
 */
export function formatTimestamp(utcMs: number, offsetHours: number, microsecond: number): string {
  const local = new Date(utcMs + offsetHours * 3_600_000).toISOString().slice(0, -1);
  const micros = String(mix(microsecond, 1) % 1000).padStart(3, "0");
  const hours = String(Math.abs(offsetHours)).padStart(2, "0");
  return `${local}${micros}${offsetHours < 0 ? "-" : "+"}${hours}:00`;
}
