import * as fc from "fast-check";
import { expect, it } from "vitest";
import { statuses } from "../../../src/core/model.ts";
import type { Presence } from "../../../src/core/model.ts";
import type { Snapshot } from "../../../src/core/snapshot/snapshot.ts";
import { pageDelta } from "../../../src/core/snapshot/page-delta.ts";
import {
  bring,
  completeListings,
  contentOf,
  contentOfListing,
  listings,
  snapshotOf,
} from "../support/worlds.ts";

it("nothing changes from a listing to the same listing", () => {
  fc.assert(
    fc.property(completeListings, fc.boolean(), (listing, complete) => {
      const before = snapshotOf(listing);
      const again = bring(before, { ...listing, complete }, { goneAfter: 2 });
      expect([again.changes, [...again.sighting.touched(new Set(statuses))].flat()]).toEqual([
        [],
        [],
      ]);
      expect(pageDelta(before.pages, again.snapshot.pages)).toMatchObject({
        replaced: [],
        removed: [],
      });
    }),
  );
});

it("a complete listing's changes bring any snapshot to what it lists", () => {
  fc.assert(
    fc.property(fc.array(listings, { maxLength: 4 }), completeListings, (before, after) => {
      const { snapshot } = bring(snapshotOf(...before), after);
      expect(contentOf(snapshot)).toEqual(contentOfListing(after));
    }),
  );
});

it("what complete listings lack is forgotten after as many as `gone_after` says", () => {
  fc.assert(
    fc.property(completeListings, completeListings, fc.integer({ min: 2, max: 4 }), (a, b, n) => {
      let snapshot = snapshotOf(a);
      const both = new Set([
        ...Array.from(snapshotOf(a).servers(), idOf),
        ...Array.from(snapshotOf(b).servers(), idOf),
      ]);
      for (let poll = 1; poll < n; poll += 1) {
        ({ snapshot } = bring(snapshot, b, { goneAfter: n }));
        expect(new Set(Array.from(snapshot.servers(), idOf))).toEqual(both);
      }
      ({ snapshot } = bring(snapshot, b, { goneAfter: n }));
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
        const known = snapshotOf(...before);
        const earlier = new Map(Array.from(known.servers(), (row) => [idOf(row), row]));
        const listed = contentOfListing(shown);
        const partial = { ...shown, complete: false };
        const { snapshot, sighting, changes } = bring(known, partial, { goneAfter });
        for (const row of known.sandboxes()) expect(snapshot.sandbox(row.sandboxId)).toBeDefined();
        for (const row of known.servers()) expect(sighting.isRemoved(row)).toBe(false);
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
        let snapshot = snapshotOf();
        const told = new Map<string, Presence>();
        for (const listing of seen) {
          const brought = bring(snapshot, listing, { goneAfter });
          snapshot = brought.snapshot;
          for (const change of brought.changes) {
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

it("only servers that differ are touched, and all of them", () => {
  fc.assert(
    fc.property(completeListings, completeListings, (a, b) => {
      const before = snapshotOf(a);
      const { snapshot, sighting } = bring(before, b);
      const differing = [...contentOf(snapshot).difference(contentOf(before))];
      const servers = new Set(
        Array.from(sighting.touched(new Set(statuses))).flatMap((some) =>
          some.map(({ server }) => idOf(server)),
        ),
      );
      expect(servers).toEqual(new Set(differing.flatMap(idIn)));
    }),
  );
});

function idOf({ sandboxId, serverId }: { sandboxId: string; serverId: string }): string {
  return JSON.stringify([sandboxId, serverId]);
}

function statusesOf(snapshot: Snapshot): ReadonlyMap<string, Presence> {
  return new Map(Array.from(snapshot.servers(), (row) => [idOf(row), row.status]));
}

/** Of a server's content its id, of a sandbox's nothing. */
function idIn(content: string): readonly string[] {
  const [id]: unknown[] = JSON.parse(content);
  return Array.isArray(id) ? [JSON.stringify(id)] : [];
}
