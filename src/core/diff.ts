import type { ListedSandbox, ListedServer, Listing, Presence } from "./model.ts";
import type { SandboxRow, ServerId, ServerRow, Snapshot, SnapshotDelta } from "./snapshot.ts";

/** A server appeared, changed status, or is gone. */
export interface Change extends ServerId {
  readonly serverName: string | null;
  readonly from: Presence;
  readonly to: Presence;
  /** For how long it was watched in `from`; null unless both ends were witnessed. Milliseconds. */
  readonly stayMs: number | null;
}

export interface Diff {
  readonly delta: SnapshotDelta;
  readonly changes: readonly Change[];
}

export interface DiffOptions {
  /** When the poll ended. UTC milliseconds. */
  readonly atMs: number;
  /** The target's observed clock at this poll. */
  readonly observedMs: number;
  /** Whether the time since the previous listing was watched: then a change's moment is known. */
  readonly witnessed: boolean;
  /** Complete listings without a server before it counts as gone. */
  readonly goneAfter: number;
}

/**
 * What a listing changes in a snapshot. A listing that is not complete updates what it shows and
 * says nothing about what it lacks.
 */
export function diffListing(
  snapshot: Snapshot,
  listed: ReadonlyMap<string, ListedSandbox>,
  complete: boolean,
  options: DiffOptions,
): Diff {
  const diff: MutableDiff = {
    sandboxes: [],
    servers: [],
    removedSandboxes: [],
    removedServers: [],
    changes: [],
  };
  for (const sandbox of listed.values()) {
    addListedSandbox(diff, snapshot, sandbox, options);
  }
  if (complete) addMissing(diff, snapshot, listed, options);
  const { changes, ...delta } = diff;
  return { delta, changes };
}

/** The listing's sandboxes by id. */
export function indexListing(listing: Listing): ReadonlyMap<string, ListedSandbox> {
  return new Map(listing.sandboxes.map((sandbox) => [sandbox.sandboxId, sandbox]));
}

interface MutableDiff {
  readonly sandboxes: SandboxRow[];
  readonly servers: ServerRow[];
  readonly removedSandboxes: string[];
  readonly removedServers: ServerId[];
  readonly changes: Change[];
}

function addListedSandbox(
  diff: MutableDiff,
  snapshot: Snapshot,
  sandbox: ListedSandbox,
  options: DiffOptions,
): void {
  const { sandboxId, status, benchmark } = sandbox;
  const known = snapshot.sandbox(sandboxId);
  if (!known || known.status !== status || known.benchmark !== benchmark || known.missing !== 0) {
    diff.sandboxes.push({ sandboxId, status, benchmark, missing: 0 });
  }
  for (const server of sandbox.servers) {
    const before = known && snapshot.server(sandboxId, server.serverId);
    addListedServer(diff, sandboxId, server, before, options);
  }
}

function addListedServer(
  diff: MutableDiff,
  sandboxId: string,
  server: ListedServer,
  before: ServerRow | undefined,
  { atMs, observedMs, witnessed }: DiffOptions,
): void {
  if (before && before.status === server.status) {
    if (before.missing === 0 && sameAttributes(before, server)) return;
    const { sinceMs, sinceObservedMs, sinceWitnessed } = before;
    const since = { sinceMs, sinceObservedMs, sinceWitnessed };
    diff.servers.push({ ...server, sandboxId, ...since, missing: 0 });
    return;
  }
  // A server that was missing meanwhile may have changed long before it was seen again.
  const sinceWitnessed = witnessed && (before?.missing ?? 0) === 0;
  const since = { sinceMs: atMs, sinceObservedMs: observedMs, sinceWitnessed };
  diff.servers.push({ ...server, sandboxId, ...since, missing: 0 });
  diff.changes.push({
    sandboxId,
    serverId: server.serverId,
    serverName: server.serverName,
    from: before?.status ?? "absent",
    to: server.status,
    stayMs: before && sinceWitnessed ? stayMs(before, observedMs) : null,
  });
}

function addMissing(
  diff: MutableDiff,
  snapshot: Snapshot,
  listed: ReadonlyMap<string, ListedSandbox>,
  { observedMs, witnessed, goneAfter }: DiffOptions,
): void {
  for (const sandbox of snapshot.sandboxes()) {
    const { sandboxId } = sandbox;
    const listedSandbox = listed.get(sandboxId);
    const present = new Set(listedSandbox?.servers.map(({ serverId }) => serverId));
    for (const server of snapshot.serversOf(sandboxId)) {
      if (present.has(server.serverId)) continue;
      const missing = server.missing + 1;
      if (missing < goneAfter) {
        diff.servers.push({ ...server, missing });
        continue;
      }
      diff.removedServers.push({ sandboxId, serverId: server.serverId });
      diff.changes.push({
        sandboxId,
        serverId: server.serverId,
        serverName: server.serverName,
        from: server.status,
        to: "absent",
        // Only the first listing that lacks it can tell when it went.
        stayMs: witnessed && missing === 1 ? stayMs(server, observedMs) : null,
      });
    }
    if (listedSandbox) continue;
    const missing = sandbox.missing + 1;
    if (missing < goneAfter) diff.sandboxes.push({ ...sandbox, missing });
    else diff.removedSandboxes.push(sandboxId);
  }
}

function sameAttributes(before: ServerRow, server: ListedServer): boolean {
  return (
    before.serverName === server.serverName &&
    before.benchmark === server.benchmark &&
    before.tags.length === server.tags.length &&
    before.tags.every((tag, index) => tag === server.tags[index])
  );
}

function stayMs(server: ServerRow, observedMs: number): number | null {
  return server.sinceWitnessed ? observedMs - server.sinceObservedMs : null;
}
