import type { ListedServer, Status } from "../model.ts";
import { statuses } from "../model.ts";
import { noneByStatus } from "./tallies.ts";
import type { CountByStatus, NameTally } from "./tallies.ts";
import type { Page } from "./page.ts";

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

/** A server of a target as one text, for maps. */
export function serverKey({ sandboxId, serverId }: ServerId): string {
  return JSON.stringify([sandboxId, serverId]);
}

/** The accepted content of a target's listings. It never changes: a listing gives the next one. */
export interface Snapshot {
  sandbox(sandboxId: string): SandboxRow | undefined;
  server(sandboxId: string, serverId: string): ServerRow | undefined;
  sandboxes(): Iterable<SandboxRow>;
  servers(): Iterable<ServerRow>;
  serversOf(sandboxId: string): Iterable<ServerRow>;
  readonly serverCount: number;
  /** One entry for each name that was ever seen, so that no series of a metric vanishes. */
  tallies(): Iterable<NameTally>;
  /** The same by name: the same map as before where nothing is counted otherwise. */
  readonly talliesByName: ReadonlyMap<string, NameTally>;
  readonly sandboxTally: CountByStatus;
  /** The name under which aggregates count a server of this name. */
  aggregateName(serverName: string | null): string;
  /** The content itself, in the order of the last listing. */
  readonly pages: readonly Page[];
  /**
   * Whoever waits for something while he reads it, or its pages, holds it, at once: else some of it is gone
   * when polls have given later ones. To be kept as long as what is read.
   */
  hold(): Disposable;
}

/** A snapshot's servers by status, whatever their names. */
export function countServers(snapshot: Snapshot): CountByStatus {
  const counts = noneByStatus();
  for (const { servers } of snapshot.tallies()) {
    for (const status of statuses) counts[status] += servers[status];
  }
  return counts;
}
