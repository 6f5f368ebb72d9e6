import type { ListedServer, Status } from "./model.ts";
import { statuses } from "./model.ts";

/** A server as it was last seen. */
export interface ServerRow extends ListedServer {
  readonly sandboxId: string;
  /** When its status was first seen. UTC milliseconds. */
  readonly sinceMs: number;
  /** The same moment on the target's observed clock, by which the stay is measured. */
  readonly sinceObservedMs: number;
  /** Whether the status began between two complete polls, so that its length can be known. */
  readonly sinceWitnessed: boolean;
  /** Complete listings in a row that lacked it. */
  readonly missing: number;
}

/** A sandbox as it was last seen. */
export interface SandboxRow {
  readonly sandboxId: string;
  readonly status: Status;
  readonly benchmark: string | null;
  readonly missing: number;
}

export interface ServerId {
  readonly sandboxId: string;
  readonly serverId: string;
}

/** What takes a snapshot to the next one: rows to write and rows to remove. */
export interface SnapshotDelta {
  readonly sandboxes: readonly SandboxRow[];
  readonly servers: readonly ServerRow[];
  readonly removedSandboxes: readonly string[];
  readonly removedServers: readonly ServerId[];
}

export type CountByStatus = Readonly<Record<Status, number>>;

/** How many servers of one name are in each status. */
export interface NameTally {
  /** The name as aggregates show it: past the limit of distinct names it is `other`. */
  readonly name: string;
  /** All that are not gone. */
  readonly servers: CountByStatus;
  /** Those that the last complete listing held: only their time is observed. */
  readonly listed: CountByStatus;
}

/** The accepted content of a target's listings, carried forward. */
export interface Snapshot {
  sandbox(sandboxId: string): SandboxRow | undefined;
  server(sandboxId: string, serverId: string): ServerRow | undefined;
  sandboxes(): Iterable<SandboxRow>;
  servers(): Iterable<ServerRow>;
  serversOf(sandboxId: string): Iterable<ServerRow>;
  readonly serverCount: number;
  /** One entry for each name that was ever seen, so that no series of a metric vanishes. */
  tallies(): Iterable<NameTally>;
  readonly sandboxTally: CountByStatus;
  /** The name under which aggregates count a server of this name. */
  aggregateName(serverName: string | null): string;
}

/** The one way to change a snapshot. */
export interface MutableSnapshot extends Snapshot {
  apply(delta: SnapshotDelta): void;
}

/** Past this many distinct names a target's further ones are counted as `other`. */
export const maxDistinctNames = 200;

interface SandboxEntry {
  row: SandboxRow;
  readonly servers: Map<string, ServerRow>;
}

interface MutableTally extends NameTally {
  readonly servers: Record<Status, number>;
  readonly listed: Record<Status, number>;
}

export function createSnapshot(): MutableSnapshot {
  const entries = new Map<string, SandboxEntry>();
  const tallies = new Map<string, MutableTally>();
  const sandboxTally = noneByStatus();
  let serverCount = 0;

  const aggregateName = (serverName: string | null): string => {
    const wanted = serverName ?? "";
    return tallies.has(wanted) || tallies.size < maxDistinctNames ? wanted : "other";
  };

  const tallyOf = (serverName: string | null): MutableTally => {
    const name = aggregateName(serverName);
    let tally = tallies.get(name);
    if (!tally) {
      tally = { name, servers: noneByStatus(), listed: noneByStatus() };
      tallies.set(name, tally);
    }
    return tally;
  };

  const count = (row: ServerRow, by: 1 | -1): void => {
    const tally = tallyOf(row.serverName);
    tally.servers[row.status] += by;
    if (row.missing === 0) tally.listed[row.status] += by;
    serverCount += by;
  };

  const entryOf = (sandboxId: string): SandboxEntry => {
    const entry = entries.get(sandboxId);
    if (!entry) throw new RangeError("a server's sandbox must be in the snapshot");
    return entry;
  };

  return {
    sandbox: (sandboxId) => entries.get(sandboxId)?.row,
    server: (sandboxId, serverId) => entries.get(sandboxId)?.servers.get(serverId),
    *sandboxes() {
      for (const entry of entries.values()) yield entry.row;
    },
    *servers() {
      for (const entry of entries.values()) yield* entry.servers.values();
    },
    serversOf: (sandboxId) => entries.get(sandboxId)?.servers.values() ?? [],
    get serverCount() {
      return serverCount;
    },
    tallies: () => tallies.values(),
    sandboxTally,
    aggregateName,
    apply(delta) {
      for (const row of delta.sandboxes) {
        const entry = entries.get(row.sandboxId);
        if (entry) {
          sandboxTally[entry.row.status] -= 1;
          entry.row = row;
        } else {
          entries.set(row.sandboxId, { row, servers: new Map() });
        }
        sandboxTally[row.status] += 1;
      }
      for (const row of delta.servers) {
        const { servers } = entryOf(row.sandboxId);
        const known = servers.get(row.serverId);
        if (known) count(known, -1);
        count(row, 1);
        servers.set(row.serverId, row);
      }
      for (const { sandboxId, serverId } of delta.removedServers) {
        const { servers } = entryOf(sandboxId);
        const known = servers.get(serverId);
        if (known) count(known, -1);
        servers.delete(serverId);
      }
      for (const sandboxId of delta.removedSandboxes) {
        const entry = entryOf(sandboxId);
        for (const server of entry.servers.values()) count(server, -1);
        sandboxTally[entry.row.status] -= 1;
        entries.delete(sandboxId);
      }
    },
  };
}

function noneByStatus(): Record<Status, number> {
  return { idle: 0, occupied: 0, error: 0, unknown: 0 };
}

/** A snapshot's servers by status, whatever their names. */
export function countServers(snapshot: Snapshot): CountByStatus {
  const counts = noneByStatus();
  for (const { servers } of snapshot.tallies()) {
    for (const status of statuses) counts[status] += servers[status];
  }
  return counts;
}

export function* eachStatus(counts: CountByStatus): Iterable<readonly [Status, number]> {
  for (const status of statuses) yield [status, counts[status]];
}
