import * as fc from "fast-check";
import { diffSnapshots, type Diff } from "../../../src/fleet/diff.ts";
import { nextSnapshot, type Observation } from "../../../src/fleet/next-snapshot.ts";
import { runAtOnce } from "../../../src/fleet/slices.ts";
import { emptySnapshot } from "../../../src/fleet/snapshot.ts";
import type { ListedSandbox, ListedServer, Snapshot } from "../../../src/fleet/snapshot.ts";
import { statuses, type Status } from "../../../src/fleet/model.ts";

/** A listing without the texts that it was read from. */
export interface PlainListing {
  readonly sandboxes: readonly ListedSandbox[];
  readonly complete: boolean;
}

export function server(
  id: string,
  status: Status | null,
  more: Partial<ListedServer> = {},
): ListedServer {
  return { id, name: "github", status, benchmark: null, tags: [], ...more };
}

export function sandbox(
  id: string,
  servers: readonly ListedServer[],
  more: Partial<ListedSandbox> = {},
): ListedSandbox {
  return { id, status: "idle", benchmark: null, createdAt: null, servers, ...more };
}

export function listing(...sandboxes: readonly ListedSandbox[]): PlainListing {
  return { sandboxes, complete: true };
}

/** A complete listing of one sandbox, `box`. */
export function boxOf(...servers: readonly ListedServer[]): PlainListing {
  return listing(sandbox("box", servers));
}

const usual: Observation = { atMs: 1_000, observedMs: 1_000, momentKnown: true, goneAfter: 1 };

/** What a listing makes of a snapshot, observed all along unless the test says otherwise. */
export function take(
  before: Snapshot,
  { sandboxes, complete }: PlainListing,
  options: Partial<Observation> = {},
): { readonly snapshot: Snapshot; readonly diff: Diff } {
  const observation = { ...usual, observedMs: options.atMs ?? usual.observedMs, ...options };
  const texts = sandboxes.map(() => null);
  const snapshot = runAtOnce(nextSnapshot(before, { sandboxes, texts, complete }, observation));
  return { snapshot, diff: runAtOnce(diffSnapshots(before, snapshot, observation)) };
}

export function snapshotOf(...listings: readonly PlainListing[]): Snapshot {
  return listings.reduce((before, each) => take(before, each).snapshot, emptySnapshot);
}

/** Few ids, so that listings share some; some of them would trip a careless look-up. */
const ids = fc.constantFrom("a", "b", "c", "d", "__proto__", 'q"\n', "");
const names = fc.constantFrom("github", "git", "cal.com", "constructor", "", null);
const benchmarks = fc.constantFrom(null, null, "MCP_Atlas", "Toolathlon");
const anyStatus = fc.constantFrom(...statuses, null, null);
const instants = fc.constantFrom(null, 0, 1_771_275_925_770);

export const listings: fc.Arbitrary<PlainListing> = fc.record({
  sandboxes: fc.uniqueArray(
    fc.record({
      id: ids,
      status: anyStatus,
      benchmark: benchmarks,
      createdAt: instants,
      servers: fc.uniqueArray(
        fc.record({
          id: ids,
          name: names,
          status: anyStatus,
          benchmark: benchmarks,
          tags: fc.array(fc.constantFrom("prod", "blue"), { maxLength: 2 }),
        }),
        { selector: ({ id }) => id, maxLength: 5 },
      ),
    }),
    { selector: ({ id }) => id, maxLength: 5 },
  ),
  complete: fc.boolean(),
});
