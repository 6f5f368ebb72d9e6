import { sandboxesPerSlice } from "./slices.ts";
import type { Slices } from "./slices.ts";
import type { PlacedServer, Sandbox, Server, Snapshot } from "./snapshot.ts";

export interface ServerPageQuery {
  /** Only servers that follow this one; null: from the first one on. */
  readonly after: { readonly sandboxId: string; readonly serverId: string } | null;
  readonly limit: number;
  readonly isWanted: (server: Server, sandbox: Sandbox) => boolean;
}

/**
 * The first servers in the order of their sandboxes' ids and then their own, by code units: the order of listings
 * changes. It takes one pass over the snapshot, and memory for twice as many servers as it gives.
 */
export function* pageOfServers(
  { sandboxes }: Snapshot,
  { after, limit, isWanted }: ServerPageQuery,
): Slices<readonly PlacedServer[]> {
  let found: PlacedServer[] = [];
  /** The last sandbox that can still be among the first ones; null: any can. */
  let last: string | null = null;
  const first = (): PlacedServer[] => found.toSorted(inOrder).slice(0, limit);
  for (const [place, sandbox] of sandboxes.entries()) {
    if (place % sandboxesPerSlice === sandboxesPerSlice - 1) yield;
    if ((after && sandbox.id < after.sandboxId) || (last !== null && sandbox.id > last)) continue;
    for (const server of sandbox.servers) {
      if (after && sandbox.id === after.sandboxId && server.id <= after.serverId) continue;
      if (isWanted(server, sandbox)) found.push({ sandbox, server });
    }
    if (found.length < limit * 2) continue;
    found = first();
    last = found.at(-1)?.sandbox.id ?? null;
  }
  return first();
}

function inOrder(one: PlacedServer, other: PlacedServer): number {
  return (
    compareTexts(one.sandbox.id, other.sandbox.id) || compareTexts(one.server.id, other.server.id)
  );
}

/** Unlike `localeCompare`, the same everywhere. */
export function compareTexts(one: string, other: string): number {
  return one < other ? -1 : one > other ? 1 : 0;
}
