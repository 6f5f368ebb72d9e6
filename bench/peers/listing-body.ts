import { seededRandom } from "../../src/platform/random.ts";

export interface ListingShape {
  readonly seed: number;
  readonly servers: number;
  /** Of the servers, in `error`. */
  readonly errorShare: number;
  /** Of the servers, with another status in the second body than in the first. */
  readonly changedShare: number;
}

const serversPerSandbox = 5;
const names = ["filesystem", "git", "terminal", "github", "google_sheets", "cal.com", "12306"];

/** Two listings of the same servers, as the service would send them, about 400 bytes a server. */
export function listingBodies(shape: ListingShape): readonly [Buffer, Buffer] {
  return [listingBody(shape, 0), listingBody(shape, shape.changedShare)];
}

function listingBody(shape: ListingShape, changedShare: number): Buffer {
  const next = seededRandom(shape.seed);
  const sandboxes = [];
  for (let first = 0; first < shape.servers; first += serversPerSandbox) {
    const sandboxId = uuid(next);
    const servers = [];
    for (
      let index = first;
      index < Math.min(first + serversPerSandbox, shape.servers);
      index += 1
    ) {
      servers.push(server(sandboxId, next, shape.errorShare, changedShare));
    }
    sandboxes.push({
      local_sandbox_id: sandboxId,
      created_at: timestamp(next),
      status: "occupied",
      benchmark: null,
      servers,
    });
  }
  return Buffer.from(JSON.stringify({ local_sandboxes: sandboxes, total_count: sandboxes.length }));
}

function server(
  sandboxId: string,
  next: () => number,
  errorShare: number,
  changedShare: number,
): unknown {
  const name = names[Math.floor(next() * names.length)] ?? "git";
  const status = next() < errorShare ? "error" : next() < 0.5 ? "idle" : "occupied";
  const changed = next() < changedShare;
  return {
    id: uuid(next),
    server_name: name,
    mcp_server_url: `https://us-east-1.mcp.sandboxes.example.com/${name}/mcp/?local_sandbox_id=${sandboxId}`,
    status: changed ? (status === "occupied" ? "idle" : "occupied") : status,
    benchmark: null,
    updated_at: timestamp(next),
    metadata: null,
    auth_data: null,
    tags: null,
  };
}

function uuid(next: () => number): string {
  const hex = Array.from({ length: 4 }, () =>
    Math.floor(next() * 2 ** 32)
      .toString(16)
      .padStart(8, "0"),
  ).join("");
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-4${hex.slice(13, 16)}-a${hex.slice(17, 20)}-${hex.slice(20)}`;
}

function timestamp(next: () => number): string {
  const atMs = Date.UTC(2026, 1, 1) + Math.floor(next() * 86_400_000);
  return `${new Date(atMs).toISOString().slice(0, -1)}231-08:00`;
}
