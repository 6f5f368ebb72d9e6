import * as fc from "fast-check";
import { expect, it } from "vitest";
import { noDiff } from "../../src/fleet/diff.ts";
import { runAtOnce } from "../../src/fleet/slices.ts";
import { emptySnapshot, findSandbox, isListed, restoreSnapshot } from "../../src/fleet/snapshot.ts";
import { listings, take } from "./support/listings.ts";
import { noFleet, plainStep } from "./support/plain-fleet.ts";
import { expectStep, expectTallies, serverRows } from "./support/rows.ts";

const runs = { seed: 20_261_125, numRuns: 300 };
const sequences = fc.array(
  fc.record({
    listing: listings,
    momentKnown: fc.boolean(),
    waitMs: fc.constantFrom(0, 30_000.25),
  }),
  { maxLength: 8 },
);
const goneAfters = fc.integer({ min: 1, max: 3 });

it("listings make of a snapshot what they make of plain rows", () => {
  let [changes, sandboxChanges] = [0, 0];
  fc.assert(
    fc.property(sequences, goneAfters, (polls, goneAfter) => {
      let [snapshot, fleet, atMs] = [emptySnapshot, noFleet, 1_000];
      for (const { listing, momentKnown, waitMs } of polls) {
        atMs += waitMs;
        const observation = { atMs: Math.floor(atMs), observedMs: atMs, momentKnown, goneAfter };
        const taken = take(snapshot, listing, observation);
        const expected = plainStep(fleet, listing, observation);
        expectStep(taken.snapshot, taken.diff, expected);
        changes += taken.diff.changes.length;
        sandboxChanges += taken.diff.sandboxChanges.length;
        [snapshot, fleet] = [taken.snapshot, expected.fleet];
      }
    }),
    runs,
  );
  expect(changes).toBeGreaterThan(1_000);
  expect(sandboxChanges).toBeGreaterThan(1_000);
});

it("what did not change is the same object in the next snapshot, and nothing is ever written to", () => {
  fc.assert(
    fc.property(sequences, goneAfters, (polls, goneAfter) => {
      let before = emptySnapshot;
      for (const { listing } of polls) {
        const { snapshot, diff } = take(before, freeze(listing), { goneAfter });
        freeze(snapshot);
        for (const known of before.sandboxes) {
          const next = findSandbox(snapshot, known.id);
          expect(isAnotherCopy(known, next)).toBe(false);
          for (const server of known.servers) {
            const same = next?.servers.find(({ id }) => id === server.id);
            expect(isAnotherCopy(server, same)).toBe(false);
          }
        }
        expect(diff.servers.every((each) => each.before !== each.after)).toBe(true);
        before = snapshot;
      }
    }),
    runs,
  );
});

it("a listing that says nothing new gives the very same snapshot, and no difference", () => {
  fc.assert(
    fc.property(listings, fc.boolean(), (listing, complete) => {
      const { snapshot } = take(emptySnapshot, { ...listing, complete });
      const again = take(snapshot, { ...listing, complete }, { atMs: 9_000 });
      expect(again.snapshot).toBe(snapshot);
      expect(again.diff).toEqual(noDiff);
    }),
    runs,
  );
});

it("a snapshot that was stored and restored goes on as the one before", () => {
  fc.assert(
    fc.property(sequences, listings, (polls, last) => {
      let snapshot = emptySnapshot;
      for (const { listing } of polls) ({ snapshot } = take(snapshot, listing, { goneAfter: 2 }));
      const stored = JSON.parse(JSON.stringify(snapshot.sandboxes));
      const restored = runAtOnce(restoreSnapshot(stored));
      expect(serverRows(restored)).toEqual(serverRows(snapshot));
      expect(restored.places).toEqual(snapshot.places);
      expectTallies(restored);
      const listed = restored.sandboxes
        .slice(0, restored.listedCount)
        .flatMap(({ servers }) => servers.filter((server) => isListed(restored, server)));
      expect(listed).toEqual(
        restored.sandboxes.flatMap(({ servers }) => servers.filter(({ missing }) => missing === 0)),
      );
      const [one, other] = [snapshot, restored].map((each) => take(each, last, { goneAfter: 2 }));
      expect(one && serverRows(one.snapshot)).toEqual(other && serverRows(other.snapshot));
      expect(one?.diff).toEqual(other?.diff);
    }),
    runs,
  );
});

/** Whether one object says the same as another one, and is not the same. */
function isAnotherCopy(one: unknown, other: unknown): boolean {
  return one !== other && JSON.stringify(one) === JSON.stringify(other);
}

function freeze<Value extends object>(value: Value): Value {
  for (const each of Object.values(value)) if (isPlain(each)) freeze(each);
  return Object.freeze(value);
}

function isPlain(value: unknown): value is object {
  const isData = typeof value === "object" && value !== null && !Object.isFrozen(value);
  return isData && !(value instanceof Map) && !(value instanceof Set);
}
