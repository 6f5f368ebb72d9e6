import { sandboxesPerSlice } from "./slices.ts";
import type { Slices } from "./slices.ts";
import type { Sandbox, Server, Since, Snapshot } from "./snapshot.ts";
import type { Status } from "./model.ts";

/** A server, or a sandbox. */
export interface FleetItem {
  readonly id: string;
  readonly status: Status;
  readonly since: Since;
}

/** What a list has of each sandbox: its servers, or the sandbox itself. */
export type ItemsOf<Each extends FleetItem> = (sandbox: Sandbox) => readonly Each[];

export const serversOf: ItemsOf<Server> = ({ servers }) => servers;
export const sandboxItself: ItemsOf<Sandbox> = (sandbox) => [sandbox];

export interface PlacedItem<Each extends FleetItem> {
  readonly sandbox: Sandbox;
  readonly item: Each;
}

export interface PageQuery<Each extends FleetItem> {
  /** Only items that follow this one; null: from the first one on. */
  readonly after: { readonly sandboxId: string; readonly id: string } | null;
  readonly limit: number;
  readonly isWanted: (item: Each, sandbox: Sandbox) => boolean;
}

/**
 * The first items in the order of their sandboxes' ids and then their own, by code units: the order of listings
 * changes. It takes one pass over the snapshot, and memory for twice as many items as it gives.
 */
export function* pageOfItems<Each extends FleetItem>(
  { sandboxes }: Snapshot,
  itemsOf: ItemsOf<Each>,
  { after, limit, isWanted }: PageQuery<Each>,
): Slices<readonly PlacedItem<Each>[]> {
  let found: PlacedItem<Each>[] = [];
  /** The last sandbox that can still be among the first ones; null: any can. */
  let last: string | null = null;
  const first = (): PlacedItem<Each>[] => found.toSorted(compareIds).slice(0, limit);
  for (const [place, sandbox] of sandboxes.entries()) {
    if (place % sandboxesPerSlice === sandboxesPerSlice - 1) yield;
    if ((after && sandbox.id < after.sandboxId) || (last !== null && sandbox.id > last)) continue;
    for (const item of itemsOf(sandbox)) {
      if (after && sandbox.id === after.sandboxId && item.id <= after.id) continue;
      if (isWanted(item, sandbox)) found.push({ sandbox, item });
    }
    if (found.length < limit * 2) continue;
    found = first();
    last = found.at(-1)?.sandbox.id ?? null;
  }
  return first();
}

export function compareIds(one: PlacedItem<FleetItem>, other: PlacedItem<FleetItem>): number {
  return compareTexts(one.sandbox.id, other.sandbox.id) || compareTexts(one.item.id, other.item.id);
}

/** Unlike `localeCompare`, the same everywhere. */
export function compareTexts(one: string, other: string): number {
  return one < other ? -1 : one > other ? 1 : 0;
}
