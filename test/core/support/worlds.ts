import * as fc from "fast-check";
import { atOnce } from "../../../src/core/in-steps.ts";
import type { ListedSandbox } from "../../../src/core/model.ts";
import { statuses } from "../../../src/core/model.ts";
import type { SightingOptions } from "../../../src/core/snapshot/intake.ts";
import { emptySnapshot } from "../../../src/core/snapshot/packed-snapshot.ts";
import type { PackedSnapshot } from "../../../src/core/snapshot/packed-snapshot.ts";
import type { Change } from "../../../src/core/snapshot/changes.ts";
import type { Sighting } from "../../../src/core/snapshot/sighting.ts";
import type { Snapshot } from "../../../src/core/snapshot/snapshot.ts";
import { changesOf, intakeOf } from "../../support/take-in.ts";
import type { Listing } from "../../support/listing.ts";

/** Few ids, so that listings share some; some of them would trip a careless lookup. */
const ids = fc.constantFrom("a", "b", "c", "d", "__proto__", 'q"\n', "");
const names = fc.constantFrom("github", "git", "cal.com", "constructor", "", null);
const benchmarks = fc.constantFrom(null, null, "MCP_Atlas", "Toolathlon");
const anyStatus = fc.constantFrom(...statuses);

const sandboxes: fc.Arbitrary<ListedSandbox> = fc.record({
  sandboxId: ids,
  status: anyStatus,
  benchmark: benchmarks,
  servers: fc.uniqueArray(
    fc.record({
      serverId: ids,
      serverName: names,
      status: anyStatus,
      benchmark: benchmarks,
      tags: fc.array(fc.constantFrom("prod", "blue"), { maxLength: 2 }),
    }),
    { selector: ({ serverId }) => serverId, maxLength: 5 },
  ),
});

export const sandboxLists: fc.Arbitrary<readonly ListedSandbox[]> = fc.uniqueArray(sandboxes, {
  selector: ({ sandboxId }) => sandboxId,
  maxLength: 5,
});

export const completeListings: fc.Arbitrary<Listing> = sandboxLists.map((listed) => ({
  sandboxes: listed,
  complete: true,
}));

export const listings: fc.Arbitrary<Listing> = fc.record({
  sandboxes: sandboxLists,
  complete: fc.boolean(),
});

export interface BringOptions extends Omit<SightingOptions, "complete"> {
  readonly goneAfter: number;
}

export const bringOptions: BringOptions = {
  atMs: 1_000,
  observedMs: 1_000,
  witnessed: true,
  goneAfter: 1,
};

export interface Brought {
  readonly snapshot: PackedSnapshot;
  readonly sighting: Sighting;
  readonly changes: readonly Change[];
}

/** Brings a snapshot to a listing, and gives what that took. */
export function bring(
  before: PackedSnapshot,
  { sandboxes: listed, complete }: Listing,
  options: Partial<BringOptions> = {},
): Brought {
  const { goneAfter, ...given } = {
    ...bringOptions,
    // Watched all along, unless the test says otherwise.
    observedMs: options.atMs ?? bringOptions.observedMs,
    ...options,
  };
  const sighting = atOnce(intakeOf(before, listed, goneAfter).finish({ ...given, complete }));
  return { snapshot: sighting.snapshot, sighting, changes: changesOf(sighting.changes) };
}

export function snapshotOf(...listed: readonly Listing[]): PackedSnapshot {
  return listed.reduce((before, listing) => bring(before, listing).snapshot, emptySnapshot);
}

/** What a snapshot says of the world, in no order, for comparing with a listing. */
export function contentOf(snapshot: Snapshot): ReadonlySet<string> {
  return new Set([
    ...Array.from(snapshot.sandboxes(), ({ sandboxId, status, benchmark }) =>
      JSON.stringify([sandboxId, status, benchmark]),
    ),
    ...Array.from(snapshot.servers(), ({ sandboxId, serverId, ...server }) =>
      JSON.stringify([
        [sandboxId, serverId],
        server.serverName,
        server.status,
        server.benchmark,
        server.tags,
      ]),
    ),
  ]);
}

export function contentOfListing(listing: Listing): ReadonlySet<string> {
  return new Set(
    listing.sandboxes.flatMap(({ sandboxId, status, benchmark, servers }) => [
      JSON.stringify([sandboxId, status, benchmark]),
      ...servers.map((server) =>
        JSON.stringify([
          [sandboxId, server.serverId],
          server.serverName,
          server.status,
          server.benchmark,
          server.tags,
        ]),
      ),
    ]),
  );
}
