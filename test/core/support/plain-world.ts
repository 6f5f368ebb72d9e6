import type { ListedSandbox, ListedServer } from "../../../src/core/model.ts";
import type { Change } from "../../../src/core/snapshot/changes.ts";
import type { Lapse } from "../../../src/core/snapshot/packed-changes.ts";
import type { SandboxRow, ServerRow } from "../../../src/core/snapshot/snapshot.ts";
import { worseOf } from "../../../src/core/worse-of.ts";
import type { BringOptions } from "./worlds.ts";
import type { Listing } from "../../support/listing.ts";

/** A snapshot as plain rows, by id. It is never changed. */
export interface PlainWorld {
  readonly sandboxes: ReadonlyMap<string, SandboxRow>;
  readonly servers: ReadonlyMap<string, ServerRow>;
}

export const emptyWorld: PlainWorld = { sandboxes: new Map(), servers: new Map() };

export interface PlainSighting {
  readonly world: PlainWorld;
  readonly changes: readonly Change[];
  readonly lapses: readonly (Change & { readonly lapse: Lapse })[];
  /** Keys of servers. */
  readonly touched: ReadonlySet<string>;
  readonly listed: ReadonlySet<string>;
  readonly removed: ReadonlySet<string>;
}

export function keyOf({ sandboxId, serverId }: { sandboxId: string; serverId: string }): string {
  return JSON.stringify([sandboxId, serverId]);
}

/** What a listing means, written for its reader rather than for the machine. */
export function lookAt(
  before: PlainWorld,
  { sandboxes: all, complete }: Listing,
  options: BringOptions,
): PlainSighting {
  const sandboxes = new Map(before.sandboxes);
  const servers = new Map(before.servers);
  const changes: Change[] = [];
  const lapses: (Change & { readonly lapse: Lapse })[] = [];
  const noteLapse = (row: ServerRow, lapse: Lapse): void => {
    lapses.push({ ...changeOf(row, row.status, row.status, null), lapse });
  };
  const touched = new Set<string>();
  const listed = new Set<string>();
  const removed = new Set<string>();
  const listedSandboxes = joinTwins(all);
  for (const { sandboxId, status, benchmark, servers: held } of listedSandboxes.values()) {
    sandboxes.set(sandboxId, { sandboxId, status, benchmark, missing: 0 });
    for (const server of held) {
      const key = keyOf({ sandboxId, serverId: server.serverId });
      const known = before.servers.get(key);
      listed.add(key);
      const row = rowOf(sandboxId, server, known, options);
      servers.set(key, row);
      if (JSON.stringify(row) !== JSON.stringify(known)) touched.add(key);
      if (known?.status === server.status) {
        if (known.missing > 0) noteLapse(row, "seen");
        continue;
      }
      const stayMs = known && row.sinceWitnessed ? stayOf(known, options) : null;
      changes.push(changeOf(row, known?.status ?? "absent", server.status, stayMs));
    }
  }
  if (complete) {
    for (const [key, row] of before.servers) {
      if (listed.has(key)) continue;
      const missing = row.missing + 1;
      if (missing < options.goneAfter) {
        servers.set(key, { ...row, missing });
        if (missing === 1) noteLapse(row, "missing");
        continue;
      }
      servers.delete(key);
      removed.add(key);
      const stayMs = options.witnessed && missing === 1 ? stayOf(row, options) : null;
      changes.push(changeOf(row, row.status, "absent", stayMs));
    }
    for (const [id, row] of before.sandboxes) {
      if (listedSandboxes.has(id)) continue;
      const missing = row.missing + 1;
      if (missing < options.goneAfter) sandboxes.set(id, { ...row, missing });
      else sandboxes.delete(id);
    }
  }
  return { world: { sandboxes, servers }, changes, lapses, touched, listed, removed };
}

function joinTwins(all: readonly ListedSandbox[]): ReadonlyMap<string, ListedSandbox> {
  const joined = new Map<string, ListedSandbox>();
  for (const sandbox of all) {
    const { sandboxId } = sandbox;
    const twin = joined.get(sandboxId);
    if (!twin) {
      joined.set(sandboxId, sandbox);
      continue;
    }
    const { status, benchmark } = worseOf(twin, sandbox, (item) => [item.benchmark]);
    const servers = new Map(twin.servers.map((server) => [server.serverId, server]));
    for (const server of sandbox.servers) {
      const other = servers.get(server.serverId);
      servers.set(server.serverId, other ? worseOf(other, server, textsOf) : server);
    }
    joined.set(sandboxId, { sandboxId, status, benchmark, servers: [...servers.values()] });
  }
  return joined;
}

function rowOf(
  sandboxId: string,
  { serverId, serverName, status, benchmark, tags }: ListedServer,
  known: ServerRow | undefined,
  { atMs, observedMs, witnessed }: BringOptions,
): ServerRow {
  const stays = known?.status === status;
  return {
    sandboxId,
    serverId,
    serverName,
    status,
    benchmark,
    tags,
    sinceMs: stays ? known.sinceMs : atMs,
    sinceObservedMs: stays ? known.sinceObservedMs : Math.floor(observedMs),
    // One that was missing meanwhile may have changed long before it was seen again.
    sinceWitnessed: stays ? known.sinceWitnessed : witnessed && (known?.missing ?? 0) === 0,
    missing: 0,
  };
}

function stayOf(row: ServerRow, { observedMs }: BringOptions): number | null {
  return row.sinceWitnessed ? Math.round(observedMs - row.sinceObservedMs) : null;
}

function changeOf(
  { sandboxId, serverId, serverName }: ServerRow,
  from: Change["from"],
  to: Change["to"],
  stayMs: number | null,
): Change {
  return { sandboxId, serverId, serverName, from, to, stayMs };
}

function textsOf({ serverName, benchmark, tags }: ListedServer): readonly (string | null)[] {
  return [serverName, benchmark, ...tags];
}
