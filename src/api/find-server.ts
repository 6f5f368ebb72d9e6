import type { WatchedView } from "../alerts/target-view.ts";
import type { Target } from "../fleet/model.ts";
import { eachServer, type PlacedServer } from "../fleet/snapshot.ts";
import { firstOf } from "../lib/iterables.ts";
import { batches, paced } from "../lib/iterables.ts";
import { printableLine } from "../lib/printable.ts";
import { RefusedError } from "../lib/refused-error.ts";
import { allTime } from "../reports/time-range.ts";
import type { KnownServer } from "../store/incident-history.ts";
import type { Store } from "../store/store.ts";

/** The most candidates that a message names. */
export const mostNamed = 10;

/** Completes a prefix of an id. @throws {RefusedError} when several ids begin with it, or it is empty */
export function completeId(text: string, ids: readonly string[]): string {
  if (text === "") throw new RefusedError("invalid", "Give an id, or a prefix of one.");
  const [only = text, ...others] = ids.filter((id) => id.startsWith(text));
  if (others.length === 0) return only;
  if (ids.includes(text)) return text;
  const list = namedOnly([only, ...others], ", ");
  const message = `${text} is a prefix of several ids: ${list}. Give more of it.`;
  throw new RefusedError("conflict", message);
}

function namedOnly(texts: readonly string[], separator: string): string {
  const named = texts.slice(0, mostNamed).join(separator);
  return texts.length > mostNamed ? `${named} and more` : named;
}

/** A server in a target. */
interface ListedAt extends PlacedServer {
  readonly target: Target;
}

export interface FoundServer extends KnownServer {
  /** The targets that list it now; empty: none. */
  readonly listed: readonly ListedAt[];
}

const serversAtOnce = 2_000;
const mostChanges = 1_000;

/** Finds a server by its id, a prefix of it, or its name. @throws {RefusedError} when not exactly one fits */
export async function findServer(
  text: string,
  targets: readonly WatchedView[],
  { incidents, changes }: Pick<Store, "incidents" | "changes">,
): Promise<FoundServer> {
  const found = new Map<string, KnownServer & { readonly listed: ListedAt[] }>();
  const add = ({ serverId, serverName }: KnownServer): ListedAt[] => {
    const known = found.get(serverId) ?? { serverId, serverName, listed: [] };
    found.set(serverId, known);
    return known.listed;
  };
  for (const { target, state } of targets) {
    for await (const some of paced(batches(eachServer(state.snapshot), serversAtOnce))) {
      for (const { sandbox, server } of some) {
        const { id: serverId, name: serverName } = server;
        if (!serverId.startsWith(text) && serverName !== text) continue;
        add({ serverId, serverName }).push({ target, sandbox, server });
      }
    }
  }
  for (const known of await incidents.serversBeginningWith(text, mostNamed + 1)) add(known);
  if (found.size === 0) {
    const about = changes.ofSubjects({ ...allTime, direction: "desc", server: text });
    for (const { serverId, serverName } of await firstOf(about, mostChanges)) {
      if (serverId !== null) add({ serverId, serverName });
    }
  }
  const exact = found.get(text);
  const [only, ...others] = found.values();
  if (exact) return exact;
  const written = JSON.stringify(text);
  if (!only) {
    const message = `No known server matches ${written}: give its id, a prefix of its id, or its name.`;
    throw new RefusedError("not_found", message);
  }
  if (others.length === 0) return only;
  const list = namedOnly([only, ...others].map(serverText), "; ");
  const message = `${written} matches several servers: ${list}. Give more of the id.`;
  throw new RefusedError("conflict", message);
}

function serverText({ serverId, serverName, listed }: FoundServer): string {
  const places = listed.map(({ target }) => `${target.region}/${target.key}`).join(", ");
  const text = `${serverId} (${serverName ?? "no name"}${places === "" ? "" : ` in ${places}`})`;
  return printableLine(text);
}
