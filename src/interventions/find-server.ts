import type { Target } from "../core/model.ts";
import { RefusedError } from "../core/refusal.ts";
import type { ServerRow } from "../core/snapshot/snapshot.ts";
import type { WatchedView } from "../core/watched-view.ts";
import { firstOf } from "../platform/first-of.ts";
import { batches, paced } from "../platform/paced.ts";
import { allTime } from "../store/change-history.ts";
import type { ChangeQuery, StoredChange } from "../store/change-history.ts";
import type { KnownServer } from "../store/incident-history.ts";

/** Where a server is looked for. */
export interface ServerSources {
  readonly targets: readonly WatchedView[];
  readonly incidents: {
    serversBeginningWith(prefix: string, limit: number): Promise<readonly KnownServer[]>;
  };
  readonly changes: { between(query: ChangeQuery): AsyncIterable<StoredChange> };
}

export interface FoundServer extends KnownServer {
  /** Where it is listed now; empty: nowhere. */
  readonly listed: readonly { readonly target: Target; readonly row: ServerRow }[];
}

/** More are not named when a text means several. */
const mostNamed = 10;
const rowsAtOnce = 2_000;
const changesLookedAt = 1_000;

/**
 * The one server that a person means by an id, the beginning of one, or a name: a whole id before
 * the rest, what is listed or had an incident before what is only remembered from a change.
 *
 * @throws {RefusedError} when there is none, or several
 */
export async function findServer(text: string, sources: ServerSources): Promise<FoundServer> {
  const listed = await searchListings(text, sources.targets);
  const byId = new Map<string, FoundServer>();
  for (const { target, row } of listed) {
    const { serverId, serverName } = row;
    const before = byId.get(serverId)?.listed ?? [];
    byId.set(serverId, { serverId, serverName, listed: [...before, { target, row }] });
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
): Promise<readonly { readonly target: Target; readonly row: ServerRow }[]> {
  const found: { target: Target; row: ServerRow }[] = [];
  for (const { target, state } of targets) {
    const { snapshot } = state;
    using _ = snapshot.hold();
    for await (const rows of paced(batches(snapshot.servers(), rowsAtOnce))) {
      for (const row of rows) {
        if (row.serverId.startsWith(text) || row.serverName === text) found.push({ target, row });
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
