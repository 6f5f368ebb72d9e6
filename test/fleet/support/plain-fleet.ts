import type { Observation } from "../../../src/fleet/next-snapshot.ts";
import type { ListedSandbox } from "../../../src/fleet/snapshot.ts";
import type { Presence, Status } from "../../../src/fleet/status.ts";

/** What listings mean, written for its reader rather than for the machine: maps of rows, written again each time. */
export interface PlainFleet {
  readonly sandboxes: ReadonlyMap<string, PlainSandbox>;
  /** By sandbox and id. */
  readonly servers: ReadonlyMap<string, PlainServer>;
}

export interface PlainSandbox {
  readonly id: string;
  readonly status: Status;
  readonly benchmark: string | null;
  readonly missing: number;
}

export interface PlainServer {
  readonly sandboxId: string;
  readonly id: string;
  readonly name: string | null;
  readonly status: Status;
  readonly benchmark: string | null;
  readonly tags: readonly string[];
  readonly atMs: number;
  readonly observedMs: number;
  readonly momentKnown: boolean;
  readonly missing: number;
}

export interface PlainStep {
  readonly fleet: PlainFleet;
  /** Sandbox, id, name, from, to, dwell time. */
  readonly changes: readonly (readonly [
    string,
    string,
    string | null,
    Presence,
    Presence,
    number | null,
  ])[];
  /** Sandbox, id, kind. */
  readonly interruptions: readonly (readonly [string, string, string])[];
  readonly listed: ReadonlySet<string>;
}

export const noFleet: PlainFleet = { sandboxes: new Map(), servers: new Map() };

export function plainKey(sandboxId: string, serverId: string): string {
  return JSON.stringify([sandboxId, serverId]);
}

export function plainStep(
  before: PlainFleet,
  listing: { readonly sandboxes: readonly ListedSandbox[]; readonly complete: boolean },
  { atMs, observedMs, momentKnown, goneAfter }: Observation,
): PlainStep {
  const sandboxes = new Map(before.sandboxes);
  const servers = new Map(before.servers);
  const changes: PlainStep["changes"][number][] = [];
  const interruptions: PlainStep["interruptions"][number][] = [];
  const listed = new Set<string>();
  const dwellOf = (row: PlainServer): number | null =>
    row.momentKnown ? Math.round(observedMs - row.observedMs) : null;

  for (const { id: sandboxId, status, benchmark, servers: held } of listing.sandboxes) {
    sandboxes.set(sandboxId, { id: sandboxId, status, benchmark, missing: 0 });
    for (const server of held) {
      const key = plainKey(sandboxId, server.id);
      listed.add(key);
      const known = before.servers.get(key);
      const row = { sandboxId, id: server.id, name: server.name, status: server.status };
      const attributes = { benchmark: server.benchmark, tags: server.tags, missing: 0 };
      if (known?.status === server.status) {
        const since = {
          atMs: known.atMs,
          observedMs: known.observedMs,
          momentKnown: known.momentKnown,
        };
        servers.set(key, { ...row, ...attributes, ...since });
        if (known.missing > 0) interruptions.push([sandboxId, server.id, "seen"]);
        continue;
      }
      // One that was missing may have changed long before it was observed again.
      const isKnown = momentKnown && (known?.missing ?? 0) === 0;
      const since = { atMs, observedMs: Math.floor(observedMs), momentKnown: isKnown };
      servers.set(key, { ...row, ...attributes, ...since });
      const dwellMs = known && isKnown ? dwellOf(known) : null;
      const from = known?.status ?? "absent";
      changes.push([sandboxId, server.id, server.name, from, server.status, dwellMs]);
    }
  }
  if (!listing.complete) return { fleet: { sandboxes, servers }, changes, interruptions, listed };

  for (const [key, row] of before.servers) {
    if (listed.has(key)) continue;
    const missing = row.missing + 1;
    if (missing < goneAfter) {
      servers.set(key, { ...row, missing });
      if (missing === 1) interruptions.push([row.sandboxId, row.id, "missing"]);
      continue;
    }
    servers.delete(key);
    const dwellMs = momentKnown && missing === 1 ? dwellOf(row) : null;
    changes.push([row.sandboxId, row.id, row.name, row.status, "absent", dwellMs]);
  }
  const ids = new Set(listing.sandboxes.map(({ id }) => id));
  for (const [id, row] of before.sandboxes) {
    if (ids.has(id)) continue;
    const missing = row.missing + 1;
    if (missing < goneAfter) sandboxes.set(id, { ...row, missing });
    else sandboxes.delete(id);
  }
  return { fleet: { sandboxes, servers }, changes, interruptions, listed };
}
