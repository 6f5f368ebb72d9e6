import { statusAfter, statusBefore, type Diff } from "../../src/fleet/diff.ts";
import type { ListedSandbox, Listing as ReadListing } from "../../src/fleet/snapshot.ts";
import type { Presence } from "../../src/fleet/model.ts";

/** What one response holds, reduced to what sandwatch keeps: nothing in it is secret. */
export interface Listing {
  /** Ids are unique within the listing. */
  readonly sandboxes: readonly ListedSandbox[];
  /** False when something may be missing: what such a listing lacks proves nothing. */
  readonly complete: boolean;
}

/** A listing of which each sandbox had to be parsed. */
export function readListing({ sandboxes, complete }: Listing): ReadListing {
  return { sandboxes, texts: sandboxes.map(() => null), complete };
}

export interface PlainChange {
  readonly sandboxId: string;
  readonly serverId: string;
  readonly serverName: string | null;
  readonly from: Presence;
  readonly to: Presence;
  readonly dwellMs: number | null;
}

/** The changes of a poll with all that they say, for comparing. */
export function changesOf({ changes }: Pick<Diff, "changes">): readonly PlainChange[] {
  return changes.map((change) => {
    const server = change.after ?? change.before;
    return {
      sandboxId: change.sandboxId,
      serverId: server?.id ?? "",
      serverName: server?.name ?? null,
      from: statusBefore(change),
      to: statusAfter(change),
      dwellMs: change.dwellMs,
    };
  });
}
