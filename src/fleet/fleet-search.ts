import { compareIds, compareTexts, sandboxItself, serversOf } from "./fleet-page.ts";
import type { FleetItem, ItemsOf, PlacedItem } from "./fleet-page.ts";
import { eachInSlices, sandboxesPerSlice } from "./slices.ts";
import type { Slices } from "./slices.ts";
import type { Sandbox, Server, Snapshot } from "./snapshot.ts";
import { noneByStatus } from "./tallies.ts";

/**
 * The status of a server or sandbox as the present one: what was last observed of a stale target is not that. In this order
 * wherever statuses are drawn or listed.
 */
export const shownStatuses = ["occupied", "idle", "error", "unknown", "unobserved"] as const;
export type ShownStatus = (typeof shownStatuses)[number];

export interface SearchedTarget {
  readonly snapshot: Pick<Snapshot, "sandboxes">;
  readonly stale: boolean;
}

/** A server or sandbox that was found. */
export interface Found<Each extends FleetItem = FleetItem> extends PlacedItem<Each> {
  /** The place of its target among those that were searched. */
  readonly target: number;
  readonly status: ShownStatus;
}

export interface Search<Each extends FleetItem, Sort extends string> {
  readonly isWanted: (item: Each, sandbox: Sandbox) => boolean;
  /** Empty: any. */
  readonly statuses: ReadonlySet<ShownStatus>;
  readonly sort: { readonly by: Sort; readonly descending: boolean };
  readonly offset: number;
  readonly limit: number;
}

export interface FoundItems<Each extends FleetItem> {
  readonly items: readonly Found<Each>[];
  /** How many there are in the wanted statuses. */
  readonly total: number;
  /** How many there are in each status, also in those that are not wanted. */
  readonly counts: Readonly<Record<ShownStatus, number>>;
}

type Comparison<Each extends FleetItem = FleetItem> = (a: Found<Each>, b: Found<Each>) => number;

/** What can be searched, and how it can be sorted. */
export interface Searched<Each extends FleetItem, Sort extends string> {
  readonly itemsOf: ItemsOf<Each>;
  readonly comparisons: Readonly<Record<Sort, Comparison<Each>>>;
}

const urgency: readonly ShownStatus[] = ["error", "unknown", "occupied", "idle", "unobserved"];

/** The worst first, and of one status the latest. */
const byStatus: Comparison = (a, b) =>
  urgency.indexOf(a.status) - urgency.indexOf(b.status) || b.item.since.atMs - a.item.since.atMs;
/** The longest in its status first. */
const bySince: Comparison = (a, b) => a.item.since.atMs - b.item.since.atMs;
const byTarget: Comparison = (a, b) => a.target - b.target;

export const serverSorts = ["name", "status", "since", "target"] as const;

export const searchedServers: Searched<Server, (typeof serverSorts)[number]> = {
  itemsOf: serversOf,
  comparisons: {
    name: (a, b) => compareTexts(a.item.name ?? "", b.item.name ?? ""),
    status: byStatus,
    since: bySince,
    target: byTarget,
  },
};

export const sandboxSorts = ["id", "status", "since", "target", "created"] as const;

export const searchedSandboxes: Searched<Sandbox, (typeof sandboxSorts)[number]> = {
  itemsOf: sandboxItself,
  comparisons: {
    id: (a, b) => compareTexts(a.item.id, b.item.id),
    status: byStatus,
    since: bySince,
    target: byTarget,
    /** The oldest first, and last those of which it is not known. */
    created: (a, b) => compareAges(a.item.createdAt, b.item.createdAt),
  },
};

function compareAges(one: number | null, other: number | null): number {
  if (one === null || other === null) return Number(one === null) - Number(other === null);
  return one - other;
}

/** Few enough that collecting them costs no long pause of the garbage collector. */
const collectedAtOnce = 4_096;

/**
 * Finds servers or sandboxes and gives some from the middle of their order. It takes one pass over all of them, and memory
 * for about twice as many as come up to the last that it gives.
 */
export function* searchFleet<Each extends FleetItem, Sort extends string>(
  targets: readonly SearchedTarget[],
  { itemsOf, comparisons }: Searched<Each, Sort>,
  { isWanted, statuses: wanted, sort, offset, limit }: Search<Each, Sort>,
): Slices<FoundItems<Each>> {
  const counts = { ...noneByStatus, unobserved: 0 };
  const compare = comparisons[sort.by];
  const sign = sort.descending ? -1 : 1;
  const inOrder: Comparison<Each> = (a, b) =>
    sign * compare(a, b) || a.target - b.target || compareIds(a, b);
  const most = offset + limit;
  let found: Found<Each>[] = [];
  /** What comes after it is not among the first ones. */
  let last: Found<Each> | undefined;
  for (const [target, { snapshot, stale }] of targets.entries()) {
    for (const [place, sandbox] of snapshot.sandboxes.entries()) {
      if (place % sandboxesPerSlice === sandboxesPerSlice - 1) yield;
      for (const item of itemsOf(sandbox)) {
        if (!isWanted(item, sandbox)) continue;
        const status = stale ? "unobserved" : item.status;
        const each: Found<Each> = { target, sandbox, item, status };
        counts[status] += 1;
        if (wanted.size > 0 && !wanted.has(status)) continue;
        if (!last || inOrder(each, last) < 0) found.push(each);
      }
      if (found.length < most * 2 + collectedAtOnce) continue;
      found = [...(yield* sortedWindow(found, { from: 0, to: most }, inOrder))];
      last = found.at(-1);
    }
  }
  const items = yield* sortedWindow(found, { from: offset, to: most }, inOrder);
  const chosen = shownStatuses.filter((status) => wanted.size === 0 || wanted.has(status));
  return { items, total: chosen.reduce((sum, status) => sum + counts[status], 0), counts };
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
