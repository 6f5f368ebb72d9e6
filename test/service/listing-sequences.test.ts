import * as fc from "fast-check";
import { expect, test } from "vitest";
import { diffSnapshots } from "../../src/fleet/diff.ts";
import { nextSnapshot } from "../../src/fleet/next-snapshot.ts";
import { runAtOnce } from "../../src/fleet/slices.ts";
import { emptySnapshot, restoreSnapshot } from "../../src/fleet/snapshot.ts";
import type { ListedServer, Snapshot } from "../../src/fleet/snapshot.ts";
import { createListingReader } from "../../src/service/listing-reader.ts";
import type { ListingOutcome } from "../../src/service/listing-reader.ts";
import { boxes, inWords, listing, read, server } from "./support/listings.ts";
import { noFleet, plainStep } from "../fleet/support/plain-fleet.ts";
import { expectStep } from "../fleet/support/rows.ts";
import { randomSequence } from "./support/random-listings.ts";
import type { RandomPoll } from "./support/random-listings.ts";
import { inOrder, referenceReading } from "./support/reference-listing.ts";

const reader = await createListingReader();

/** What is said of a body, without what must be compared apart. */
function readingOf(outcome: ListingOutcome) {
  if (outcome.kind === "refused") return "refused";
  const { deviations, unkept } = outcome;
  const { sandboxes, complete } = outcome.listing;
  const plainServer = ({ id, name, status, benchmark, tags }: ListedServer) => {
    return { id, name, status, benchmark, tags };
  };
  return {
    sandboxes: sandboxes.map(({ id, status, benchmark, servers }) => {
      return { id, status, benchmark, servers: servers.map(plainServer) };
    }),
    complete,
    unkept: unkept.count,
    deviations: inOrder(deviations),
  };
}

/** Plays a sequence and the model beside it. */
function play(seed: number): void {
  const { goneAfter, polls } = randomSequence(seed, 8);
  let [snapshot, fleet, atMs] = [emptySnapshot, noFleet, 1_000];
  for (const [index, poll] of polls.entries()) {
    if (poll.isRestarted) snapshot = runAtOnce(restoreSnapshot(snapshot.sandboxes));
    atMs += poll.waitMs;
    const outcome = runAtOnce(reader.read(poll.body, snapshot, seed + index));
    const reading = referenceReading(poll.body);
    expect(readingOf(outcome)).toEqual(reading);
    if (outcome.kind === "refused" || reading === "refused") continue;
    const momentKnown = poll.momentKnown && reading.complete;
    const observation = { atMs: Math.round(atMs), observedMs: atMs, momentKnown, goneAfter };
    const next = runAtOnce(nextSnapshot(snapshot, outcome.listing, observation));
    const expected = plainStep(fleet, reading, observation);
    expectStep(next, runAtOnce(diffSnapshots(snapshot, next, observation)), expected);
    if (!poll.isDropped) [snapshot, fleet] = [next, expected.fleet];
  }
}

test("whatever comes poll after poll, it means what it means when it is parsed as a whole", () => {
  fc.assert(fc.property(fc.nat(), play), { numRuns: 400, seed: 20_261_125 });
});

/** Each body again and again, until nothing about it is new any more. */
function settle(before: Snapshot, { body }: RandomPoll) {
  const observation = { atMs: 1, observedMs: 1, momentKnown: false, goneAfter: 2 };
  let snapshot = before;
  for (let polls = 0; polls < 4; polls++) {
    const outcome = runAtOnce(reader.read(body, snapshot, polls));
    if (outcome.kind === "refused") return null;
    const next = runAtOnce(nextSnapshot(snapshot, outcome.listing, observation));
    if (next === snapshot) return { snapshot, isSame: true };
    snapshot = next;
  }
  return { snapshot, isSame: false };
}

test("a body that comes again and again leads to one and the same snapshot", () => {
  let settled = 0;
  for (let seed = 0; seed < 300; seed++) {
    let snapshot = emptySnapshot;
    for (const poll of randomSequence(seed, 4).polls) {
      const reached = settle(snapshot, poll);
      if (!reached) continue;
      ({ snapshot } = reached);
      // What is listed twice is joined again each time.
      const isTwice = !reached.isSame && snapshot.texts.includes(null);
      expect(reached.isSame || isTwice || snapshot.unlistedServers.size > 0).toBe(true);
      if (reached.isSame) settled++;
    }
  }
  expect(settled).toBeGreaterThan(500);
});

test("what is taken of items listed several times does not depend on their order", () => {
  const status = fc.constantFrom("idle", "occupied", "error", null);
  const name = fc.constantFrom("a", "b", "", null);
  const tags = fc.subarray(["a", "b"]);
  const anyServer = fc
    .record({ id: fc.constantFrom("v1", "v2"), server_name: name, status, benchmark: name, tags })
    .map((fields) => ({ ...server, ...fields }));
  const servers = fc.array(anyServer, { maxLength: 4 });
  const anySandbox = fc
    .record({ at: fc.nat(1), status, benchmark: name, servers })
    .map(({ at, ...fields }) => ({ ...boxes(2)[at], ...fields }));
  const byId = (one: { readonly id: string }, other: { readonly id: string }) =>
    one.id < other.id ? -1 : 1;
  const readingIn = (items: readonly unknown[]) => {
    const outcome = read(listing(items, 2));
    const { sandboxes, complete } = outcome.listing;
    const sorted = sandboxes.map((each) => ({ ...each, servers: each.servers.toSorted(byId) }));
    return [sorted.toSorted(byId), complete, inWords(outcome).toSorted()];
  };
  fc.assert(
    fc.property(fc.array(anySandbox, { maxLength: 5 }), (items) => {
      const reversed = items.map((each) => ({ ...each, servers: each.servers.toReversed() }));
      expect(readingIn(reversed.toReversed())).toEqual(readingIn(items));
    }),
    { numRuns: 300 },
  );
});
