import type { ListedSandbox } from "../fleet/snapshot.ts";
import { statuses } from "../fleet/status.ts";
import type { Status } from "../fleet/status.ts";
import type { SimulatedSandbox } from "./world.ts";

/**
 * What a listing over HTTP would hold, without making and reading its text.
 *
 * @param share of the sandboxes that are listed; less than all makes a partial listing
 */
export function listDirectly(
  sandboxes: Iterable<SimulatedSandbox>,
  share = 1,
): readonly ListedSandbox[] {
  const listed: ListedSandbox[] = [];
  let due = 0;
  for (const sandbox of sandboxes) {
    due += share;
    if (due < 1) continue;
    due -= 1;
    listed.push(listedAs(sandbox));
  }
  return listed;
}

function listedAs({ sandboxId, status, benchmark, servers }: SimulatedSandbox): ListedSandbox {
  return {
    id: sandboxId,
    status: known(status),
    benchmark,
    servers: servers.map((server) => ({
      id: server.serverId,
      name: server.serverName,
      status: known(server.status),
      benchmark: server.benchmark,
      tags: server.tags ?? [],
    })),
  };
}

function known(status: string | null): Status {
  return statuses.find((each) => each === status) ?? "unknown";
}
