import type { Observation } from "../../../src/fleet/next-snapshot.ts";
import type { ListedSandbox } from "../../../src/fleet/snapshot.ts";
import type { Presence, Status } from "../../../src/fleet/model.ts";

/** What listings mean, written for its reader rather than for the machine: maps of rows, written again each time. */
export interface PlainFleet {
  readonly sandboxes: ReadonlyMap<string, PlainSandbox>;
  /** By sandbox and id. */
  readonly servers: ReadonlyMap<string, PlainServer>;
}

/** In which status, and since when. */
interface PlainPeriod {
  readonly status: Status;
  readonly atMs: number;
  readonly observedMs: number;
  readonly momentKnown: boolean;
}

export interface PlainSandbox extends PlainPeriod {
  readonly id: string;
  /** Of all that listings gave it since it appeared; absent ones are null. */
  readonly stated: readonly (Status | null)[];
  readonly benchmark: string | null;
  readonly createdAt: number | null;
  readonly missing: number;
}

export interface PlainServer extends PlainPeriod {
  readonly sandboxId: string;
  readonly id: string;
  readonly name: string | null;
  readonly stated: readonly (Status | null)[];
  readonly benchmark: string | null;
  readonly tags: readonly string[];
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
  /** The same of sandboxes. */
  readonly sandboxChanges: readonly (readonly [string, Presence, Presence, number | null])[];
  readonly sandboxInterruptions: readonly (readonly [string, string])[];
  readonly listed: ReadonlySet<string>;
}

export const noFleet: PlainFleet = { sandboxes: new Map(), servers: new Map() };

export function plainKey(sandboxId: string, serverId: string): string {
  return JSON.stringify([sandboxId, serverId]);
}

/** Its last one once there was any; null: there was none. */
export function ownStatus(stated: readonly (Status | null)[]): Status | null {
  return stated.every((status) => status === null) ? null : (stated.at(-1) ?? "unknown");
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
  const sandboxChanges: PlainStep["sandboxChanges"][number][] = [];
  const sandboxInterruptions: PlainStep["sandboxInterruptions"][number][] = [];
  const listed = new Set<string>();

  const periodOf = (status: Status, known: PlainPeriod | undefined, isKnown: boolean) => {
    if (known?.status === status) return { status, ...sinceOf(known) };
    return { status, atMs, observedMs: Math.floor(observedMs), momentKnown: isKnown };
  };
  const dwellOf = (known: PlainPeriod | undefined, isKnown: boolean): number | null =>
    known?.momentKnown && isKnown ? Math.round(observedMs - known.observedMs) : null;

  for (const { id: sandboxId, status, servers: held } of listing.sandboxes) {
    const known = before.sandboxes.get(sandboxId);
    const stated = [...(known?.stated ?? []), status];
    for (const server of held) {
      const key = plainKey(sandboxId, server.id);
      listed.add(key);
      const knownServer = before.servers.get(key);
      const ofServer = [...(knownServer?.stated ?? []), server.status];
      const own = ownStatus(ofServer) ?? ownStatus(stated) ?? "unknown";
      // One that was missing may have changed long before it was observed again.
      const isKnown = momentKnown && (knownServer?.missing ?? 0) === 0;
      servers.set(key, {
        sandboxId,
        id: server.id,
        name: server.name,
        stated: ofServer,
        benchmark: server.benchmark,
        tags: server.tags,
        missing: 0,
        ...periodOf(own, knownServer, isKnown),
      });
      if (knownServer?.status !== own) {
        const from = knownServer?.status ?? "absent";
        const dwellMs = dwellOf(knownServer, isKnown);
        changes.push([sandboxId, server.id, server.name, from, own, dwellMs]);
      } else if (knownServer.missing > 0) interruptions.push([sandboxId, server.id, "seen"]);
    }
  }

  for (const [key, row] of listing.complete ? before.servers : []) {
    if (listed.has(key)) continue;
    const missing = row.missing + 1;
    if (missing < goneAfter) {
      servers.set(key, { ...row, missing });
      if (missing === 1) interruptions.push([row.sandboxId, row.id, "missing"]);
      continue;
    }
    servers.delete(key);
    const dwellMs = dwellOf(row, momentKnown && missing === 1);
    changes.push([row.sandboxId, row.id, row.name, row.status, "absent", dwellMs]);
  }

  // After the servers, which some of them have their status from.
  for (const { id, status, benchmark, createdAt } of listing.sandboxes) {
    const known = before.sandboxes.get(id);
    const stated = [...(known?.stated ?? []), status];
    const own = ownStatus(stated);
    const ofServers = [...servers.values()]
      .filter(({ sandboxId }) => sandboxId === id)
      .map((server) => ownStatus(server.stated));
    const worst = (["error", "occupied", "idle"] as const).find((each) => ofServers.includes(each));
    const now = own ?? worst ?? "unknown";
    const had = [...before.servers.values()].filter(({ sandboxId }) => sandboxId === id);
    const wasMissing =
      (known?.missing ?? 0) > 0 || (own === null && had.some(({ missing }) => missing > 0));
    const isKnown = momentKnown && !wasMissing;
    const period = periodOf(now, known, isKnown);
    sandboxes.set(id, { id, stated, benchmark, createdAt, missing: 0, ...period });
    if (known?.status !== now) {
      sandboxChanges.push([id, known?.status ?? "absent", now, dwellOf(known, isKnown)]);
    } else if (known.missing > 0) sandboxInterruptions.push([id, "seen"]);
  }

  const ids = new Set(listing.sandboxes.map(({ id }) => id));
  for (const [id, row] of listing.complete ? before.sandboxes : []) {
    if (ids.has(id)) continue;
    const missing = row.missing + 1;
    if (missing < goneAfter) {
      sandboxes.set(id, { ...row, missing });
      if (missing === 1) sandboxInterruptions.push([id, "missing"]);
      continue;
    }
    sandboxes.delete(id);
    const dwellMs = dwellOf(row, momentKnown && missing === 1);
    sandboxChanges.push([id, row.status, "absent", dwellMs]);
  }
  return {
    fleet: { sandboxes, servers },
    changes,
    interruptions,
    sandboxChanges,
    sandboxInterruptions,
    listed,
  };
}

function sinceOf({ atMs, observedMs, momentKnown }: PlainPeriod) {
  return { atMs, observedMs, momentKnown };
}
