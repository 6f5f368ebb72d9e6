import { presences } from "../model.ts";
import type { Presence, Status } from "../model.ts";
import { noChanges } from "./changes.ts";
import type { Changes } from "./changes.ts";
import { missingIn, statusIn } from "./page-records.ts";
import type { PackedSnapshot } from "./packed-snapshot.ts";
import { serverKey } from "./snapshot.ts";
import type { ServerId, ServerRow } from "./snapshot.ts";
import type { SightingParts } from "./steps.ts";

/** What an accepted listing showed, beside the snapshot that it gives. */
export interface Sighting {
  readonly snapshot: PackedSnapshot;
  readonly changes: Changes;
  /**
   * Tells of a server that was known before whether it was listed, and just as it was known. Null where that is
   * not so of most, or would take longer to find out than to look at so many servers.
   */
  untouched(servers: number): IsUntouched | null;
  /**
   * Servers in these statuses that were listed otherwise than they were known, in any way: some at a
   * time, now and then none.
   */
  touched(statuses: ReadonlySet<Status>): Iterable<readonly Touched[]>;
  /** All servers in these statuses that were listed, in the same manner. */
  listed(statuses: ReadonlySet<Status>): Iterable<readonly ServerRow[]>;
  /** A server as the listing held it; null where it did not. */
  listedServer(id: ServerId): ServerRow | null;
  /** Whether the listing made a server gone. */
  isRemoved(id: ServerId): boolean;
}

export type IsUntouched = (id: ServerId) => boolean;

export interface Touched {
  readonly server: ServerRow;
  /** What it was before; null where the status is the same. */
  readonly from: Presence | null;
}

/** Servers that are looked at in about a millisecond. */
const lookedAtOnce = 4_096;

export function* touchedIn(
  parts: SightingParts,
  statuses: ReadonlySet<Status>,
): Iterable<readonly Touched[]> {
  const { after, touched, sorted } = parts;
  const isAsked = presences.map((presence) => presence !== "absent" && statuses.has(presence));
  let some: Touched[] = [];
  for (let step = 0; step < touched.length; step++) {
    if (step % lookedAtOnce === lookedAtOnce - 1) {
      yield some;
      some = [];
    }
    const to = sorted.toNumber(step);
    // Most are in a status that nobody asks for.
    if (!isAsked[to]) continue;
    const from = presences[sorted.fromNumber(step)];
    const page = after[touched.pageAfter(step)];
    if (!page || !from) continue;
    some.push({
      server: page.serverRow(touched.serverAfter(step)),
      from: from === presences[to] ? null : from,
    });
  }
  yield some;
}

/** To look at a server takes as long as to remember so many that were touched. */
const rememberedPerServer = 4;

/**
 * Where all that the snapshot holds was listed.
 *
 * @param servers that are going to be asked about, about so many
 */
export function untouchedIn(
  { after, touched, removed }: SightingParts,
  servers: number,
): IsUntouched | null {
  if (removed.length > 0 || touched.length > servers * rememberedPerServer) return null;
  const keys = new Set<string>();
  for (let step = 0; step < touched.length; step++) {
    const page = after[touched.pageAfter(step)];
    if (!page) return null;
    keys.add(serverKey(page.serverRow(touched.serverAfter(step))));
  }
  return (id) => !keys.has(serverKey(id));
}

/** All that the snapshot holds was listed, and nothing is otherwise. */
export function sameSighting(snapshot: PackedSnapshot): Sighting {
  return {
    snapshot,
    changes: noChanges,
    untouched: () => () => true,
    touched: () => [],
    listed: (statuses) => listedServers(snapshot, snapshot.sandboxCount, statuses),
    listedServer: ({ sandboxId, serverId }) => snapshot.server(sandboxId, serverId) ?? null,
    isRemoved: () => false,
  };
}

/** The sandboxes that were listed come before the others. */
export function* listedServers(
  { pages }: PackedSnapshot,
  sandboxCount: number,
  statuses: ReadonlySet<Status>,
): Iterable<readonly ServerRow[]> {
  let left = sandboxCount;
  let servers: ServerRow[] = [];
  let lookedAt = 0;
  for (const page of pages) {
    const sandboxes = Math.min(left, page.sandboxCount);
    left -= sandboxes;
    const end = sandboxes === 0 ? 0 : page.serversEnd(sandboxes - 1);
    for (let server = 0; server < end; server++) {
      const flags = page.serverFlags(server);
      if (missingIn(flags) === 0 && statuses.has(statusIn(flags))) {
        servers.push(page.serverRow(server));
      }
    }
    lookedAt += end;
    if (lookedAt < lookedAtOnce) continue;
    yield servers;
    servers = [];
    lookedAt = 0;
  }
  yield servers;
}
