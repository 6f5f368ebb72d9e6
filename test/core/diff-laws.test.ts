import * as fc from "fast-check";
import { expect, it } from "vitest";
import type { Presence } from "../../src/core/model.ts";
import type { Snapshot } from "../../src/core/snapshot.ts";
import {
  bring,
  completeListings,
  contentOf,
  contentOfListing,
  listings,
  snapshotOf,
} from "./support/worlds.ts";

it("nothing changes from a listing to the same listing", () => {
  fc.assert(
    fc.property(completeListings, fc.boolean(), (listing, complete) => {
      const again = bring(snapshotOf(listing), { ...listing, complete }, { goneAfter: 2 });
      expect(again).toEqual({
        delta: { sandboxes: [], servers: [], removedSandboxes: [], removedServers: [] },
        changes: [],
      });
    }),
  );
});

it("a complete listing's changes bring any snapshot to what it lists", () => {
  fc.assert(
    fc.property(fc.array(listings, { maxLength: 4 }), completeListings, (before, after) => {
      const snapshot = snapshotOf(...before);
      bring(snapshot, after);
      expect(contentOf(snapshot)).toEqual(contentOfListing(after));
    }),
  );
});

it("what complete listings lack is forgotten after as many as `gone_after` says", () => {
  fc.assert(
    fc.property(completeListings, completeListings, fc.integer({ min: 2, max: 4 }), (a, b, n) => {
      const snapshot = snapshotOf(a);
      const both = new Set([
        ...Array.from(snapshotOf(a).servers(), idOf),
        ...Array.from(snapshotOf(b).servers(), idOf),
      ]);
      for (let poll = 1; poll < n; poll += 1) {
        bring(snapshot, b, { goneAfter: n });
        expect(new Set(Array.from(snapshot.servers(), idOf))).toEqual(both);
      }
      bring(snapshot, b, { goneAfter: n });
      expect(contentOf(snapshot)).toEqual(contentOfListing(b));
    }),
  );
});

it("a partial listing removes nothing and makes nothing missing, but takes in all it shows", () => {
  fc.assert(
    fc.property(
      fc.array(listings, { maxLength: 4 }),
      listings,
      fc.integer({ min: 1, max: 3 }),
      (before, shown, goneAfter) => {
        const snapshot = snapshotOf(...before);
        const earlier = new Map(Array.from(snapshot.servers(), (row) => [idOf(row), row]));
        const listed = contentOfListing(shown);
        const { delta, changes } = bring(snapshot, { ...shown, complete: false }, { goneAfter });
        expect([delta.removedSandboxes, delta.removedServers]).toEqual([[], []]);
        expect(changes.filter(({ to }) => to === "absent")).toEqual([]);
        expect(contentOf(snapshot).isSupersetOf(listed)).toBe(true);
        const shownIds = new Set(
          shown.sandboxes.flatMap(({ sandboxId, servers }) =>
            servers.map(({ serverId }) => idOf({ sandboxId, serverId })),
          ),
        );
        for (const row of snapshot.servers()) {
          const isShown = shownIds.has(idOf(row));
          expect(row).toEqual(isShown ? { ...row, missing: 0 } : earlier.get(idOf(row)));
        }
      },
    ),
  );
});

it("changes tell every server's way without a gap, and only what really changed", () => {
  fc.assert(
    fc.property(
      fc.array(listings, { maxLength: 8 }),
      fc.integer({ min: 1, max: 3 }),
      (seen, goneAfter) => {
        const snapshot = snapshotOf();
        const told = new Map<string, Presence>();
        for (const listing of seen) {
          for (const change of bring(snapshot, listing, { goneAfter }).changes) {
            expect(change.from).toBe(told.get(idOf(change)) ?? "absent");
            expect(change.to).not.toBe(change.from);
            told.set(idOf(change), change.to);
          }
          const present = [...told].filter(([, status]) => status !== "absent");
          expect(new Map(present)).toEqual(statusesOf(snapshot));
        }
      },
    ),
  );
});

it("a delta is no larger than what differs", () => {
  fc.assert(
    fc.property(completeListings, completeListings, (a, b) => {
      const snapshot = snapshotOf(a);
      const before = contentOf(snapshot);
      const { delta } = bring(snapshot, b);
      const fresh = [...contentOf(snapshot).difference(before)];
      expect(delta.servers.length + delta.sandboxes.length).toBe(fresh.length);
    }),
  );
});

function idOf({ sandboxId, serverId }: { sandboxId: string; serverId: string }): string {
  return JSON.stringify([sandboxId, serverId]);
}

function statusesOf(snapshot: Snapshot): ReadonlyMap<string, Presence> {
  return new Map(Array.from(snapshot.servers(), (row) => [idOf(row), row.status]));
}
