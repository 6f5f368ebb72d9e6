import type { Target } from "../fleet/model.ts";
import { RefusedError } from "../lib/refusal.ts";
import type { WatchedView } from "../alerts/watched-view.ts";
import { eachServer } from "../fleet/snapshot.ts";
import type { PlacedServer } from "../fleet/snapshot.ts";
import { firstOf } from "../lib/first-of.ts";
import { batches, paced } from "../lib/paced.ts";
import { allTime } from "../store/changes.ts";
import type { ChangeQuery, StoredChange } from "../store/changes.ts";
import type { KnownServer } from "../store/incident-history.ts";

/** Where a server is searched. */
export interface ServerSources {
  readonly targets: readonly WatchedView[];
  readonly incidents: {
    serversBeginningWith(prefix: string, limit: number): Promise<readonly KnownServer[]>;
  };
  readonly changes: { between(query: ChangeQuery): AsyncIterable<StoredChange> };
}

/** A server in a target. */
export interface ListedAt extends PlacedServer {
  readonly target: Target;
}

export interface FoundServer extends KnownServer {
  /** Where it is listed now; empty: nowhere. */
  readonly listed: readonly ListedAt[];
}

/** A longer list of servers is cut. */
const mostNamed = 10;
const serversAtOnce = 2_000;
const changesLookedAt = 1_000;

/**
 * Finds a server by its id, the beginning of its id, or its name. A complete id takes precedence. Servers
 * that are known only from changes are searched last.
 *
 * @throws {RefusedError} when no server fits, or several do
 */
export async function findServer(text: string, sources: ServerSources): Promise<FoundServer> {
  const listed = await searchListings(text, sources.targets);
  const byId = new Map<string, FoundServer>();
  for (const each of listed) {
    const { id: serverId, name: serverName } = each.server;
    const before = byId.get(serverId)?.listed ?? [];
    byId.set(serverId, { serverId, serverName, listed: [...before, each] });
  }
  for (const known of await sources.incidents.serversBeginningWith(text, mostNamed + 1)) {
    if (!byId.has(known.serverId)) byId.set(known.serverId, { ...known, listed: [] });
  }
  if (byId.size === 0) {
    const about = sources.changes.between({ ...allTime, direction: "desc", server: text });
    for (const { serverId, serverName } of await firstOf(about, changesLookedAt)) {
      if (!byId.has(serverId)) byId.set(serverId, { serverId, serverName, listed: [] });
    }
  }
  const exact = byId.get(text);
  if (exact) return exact;
  const [only, ...others] = byId.values();
  if (!only) {
    throw new RefusedError(
      "not_found",
      `No server is known by ${JSON.stringify(text)}: give its id, the beginning of its id, or its name.`,
    );
  }
  if (others.length > 0) throw new RefusedError("conflict", ambiguous(text, [only, ...others]));
  return only;
}

async function searchListings(
  text: string,
  targets: readonly WatchedView[],
): Promise<readonly ListedAt[]> {
  const found: ListedAt[] = [];
  for (const { target, state } of targets) {
    for await (const some of paced(batches(eachServer(state.snapshot), serversAtOnce))) {
      for (const { sandbox, server } of some) {
        const isMeant = server.id.startsWith(text) || server.name === text;
        if (isMeant) found.push({ target, sandbox, server });
      }
    }
  }
  return found;
}

function ambiguous(text: string, servers: readonly FoundServer[]): string {
  const named = servers.slice(0, mostNamed).map(({ serverId, serverName, listed }) => {
    const places = listed.map(({ target }) => `${target.region}/${target.key}`).join(", ");
    return `${serverId} (${serverName ?? "no name"}${places === "" ? "" : ` in ${places}`})`;
  });
  const more = servers.length > named.length ? " and more" : "";
  return `${JSON.stringify(text)} means several servers: ${named.join("; ")}${more}. Give more of the id.`;
}
