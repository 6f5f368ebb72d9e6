import { compareTexts } from "./server-page.ts";
import { eachInSlices, sandboxesPerSlice } from "./slices.ts";
import type { Slices } from "./slices.ts";
import type { PlacedServer, Sandbox, Server, Snapshot } from "./snapshot.ts";
import { noneByStatus } from "./tallies.ts";

/**
 * The status of a server as the present one: what was last observed of a stale target is not that. In this order
 * wherever statuses are drawn or listed.
 */
export const shownStatuses = ["occupied", "idle", "error", "unknown", "unobserved"] as const;
export type ShownStatus = (typeof shownStatuses)[number];

export interface SearchedTarget {
  readonly snapshot: Snapshot;
  readonly stale: boolean;
}

export interface FoundServer extends PlacedServer {
  /** The place of its target among those that were searched. */
  readonly target: number;
  readonly status: ShownStatus;
}

export const serverSorts = ["name", "status", "since", "target"] as const;

export interface ServerSearch {
  readonly isWanted: (server: Server, sandbox: Sandbox) => boolean;
  /** Empty: any. */
  readonly statuses: ReadonlySet<ShownStatus>;
  readonly sort: { readonly by: (typeof serverSorts)[number]; readonly descending: boolean };
  readonly offset: number;
  readonly limit: number;
}

export interface FoundServers {
  readonly servers: readonly FoundServer[];
  /** How many there are in the wanted statuses. */
  readonly total: number;
  /** How many there are in each status, also in those that are not wanted. */
  readonly counts: Readonly<Record<ShownStatus, number>>;
}

/** Few enough that collecting them costs no long pause of the garbage collector. */
const collectedAtOnce = 4_096;

/**
 * Finds servers and gives some from the middle of their order. It takes one pass over all of them, and memory for about
 * twice as many as come up to the last that it gives.
 */
export function* searchServers(
  targets: readonly SearchedTarget[],
  { isWanted, statuses: wanted, sort, offset, limit }: ServerSearch,
): Slices<FoundServers> {
  const counts = { ...noneByStatus, unobserved: 0 };
  const compare = comparisons[sort.by];
  const sign = sort.descending ? -1 : 1;
  const inOrder: Comparison = (a, b) => sign * compare(a, b) || compareIds(a, b);
  const most = offset + limit;
  let found: FoundServer[] = [];
  /** What comes after it is not among the first ones. */
  let last: FoundServer | undefined;
  for (const [target, { snapshot, stale }] of targets.entries()) {
    for (const [place, sandbox] of snapshot.sandboxes.entries()) {
      if (place % sandboxesPerSlice === sandboxesPerSlice - 1) yield;
      for (const server of sandbox.servers) {
        if (!isWanted(server, sandbox)) continue;
        const each: FoundServer = {
          target,
          sandbox,
          server,
          status: stale ? "unobserved" : server.status,
        };
        counts[each.status] += 1;
        if (wanted.size > 0 && !wanted.has(each.status)) continue;
        if (!last || inOrder(each, last) < 0) found.push(each);
      }
      if (found.length < most * 2 + collectedAtOnce) continue;
      found = [...(yield* sortedWindow(found, { from: 0, to: most }, inOrder))];
      last = found.at(-1);
    }
  }
  const servers = yield* sortedWindow(found, { from: offset, to: most }, inOrder);
  const chosen = shownStatuses.filter((status) => wanted.size === 0 || wanted.has(status));
  return { servers, total: chosen.reduce((sum, status) => sum + counts[status], 0), counts };
}

type Comparison = (a: FoundServer, b: FoundServer) => number;

const urgency: readonly ShownStatus[] = ["error", "unknown", "occupied", "idle", "unobserved"];

const comparisons: Readonly<Record<ServerSearch["sort"]["by"], Comparison>> = {
  name: (a, b) => compareTexts(a.server.name ?? "", b.server.name ?? ""),
  /** The worst first, and of one status the latest. */
  status: (a, b) =>
    urgency.indexOf(a.status) - urgency.indexOf(b.status) ||
    b.server.since.atMs - a.server.since.atMs,
  /** The longest in its status first. */
  since: (a, b) => a.server.since.atMs - b.server.since.atMs,
  target: (a, b) => a.target - b.target,
};

function compareIds(a: FoundServer, b: FoundServer): number {
  return (
    a.target - b.target ||
    compareTexts(a.sandbox.id, b.sandbox.id) ||
    compareTexts(a.server.id, b.server.id)
  );
}

/** So few that sorting them at once is one slice. */
const sortedAtOnce = 512;
const comparedAtOnce = 4_096;

/**
 * The items from one place in their order to another. Only those are sorted: the others are parted from them as
 * quickselect does it, because a sort of all would take long and cannot be sliced.
 */
export function* sortedWindow<Item>(
  items: readonly Item[],
  { from, to }: { readonly from: number; readonly to: number },
  compare: (a: Item, b: Item) => number,
): Slices<readonly Item[]> {
  if (to <= 0 || from >= items.length) return [];
  const few = items.length <= sortedAtOnce;
  // The middle one of a sample of all: items of several targets are several ordered lists, one after another.
  const step = few ? 1 : Math.floor(items.length / 101);
  const sample = items.filter((_, place) => place % step === 0).toSorted(compare);
  const pivot = sample[sample.length >>> 1];
  if (few || pivot === undefined) return sample.slice(Math.max(0, from), to);
  const [below, same, above]: [Item[], Item[], Item[]] = [[], [], []];
  yield* eachInSlices(items, comparedAtOnce, (item) => {
    const order = compare(item, pivot);
    (order < 0 ? below : order > 0 ? above : same).push(item);
  });
  const behind = below.length + same.length;
  return [
    ...(yield* sortedWindow(below, { from, to }, compare)),
    ...same.slice(Math.max(0, from - below.length), Math.max(0, to - below.length)),
    ...(yield* sortedWindow(above, { from: from - behind, to: to - behind }, compare)),
  ];
}
