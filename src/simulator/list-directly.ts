import type { ListingIntake } from "../core/listing-intake.ts";
import { statuses } from "../core/model.ts";
import type { ListedSandbox, Status } from "../core/model.ts";
import type { SimulatedSandbox } from "./world.ts";

/**
 * Gives an intake what a listing over HTTP would, without making and reading its text.
 *
 * @param share of the sandboxes that are listed; less than all makes a partial listing
 */
export function listDirectly(
  sandboxes: Iterable<SimulatedSandbox>,
  intake: ListingIntake,
  share = 1,
): void {
  let due = 0;
  for (const sandbox of sandboxes) {
    due += share;
    if (due < 1) continue;
    due -= 1;
    intake.listed(listedAs(sandbox), null);
  }
}

function listedAs({ sandboxId, status, benchmark, servers }: SimulatedSandbox): ListedSandbox {
  return {
    sandboxId,
    status: known(status),
    benchmark,
    servers: servers.map((server) => ({
      serverId: server.serverId,
      serverName: server.serverName,
      status: known(server.status),
      benchmark: server.benchmark,
      tags: server.tags ?? [],
    })),
  };
}

function known(status: string | null): Status {
  return statuses.find((each) => each === status) ?? "unknown";
}
