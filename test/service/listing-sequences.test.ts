import * as fc from "fast-check";
import { expect, test } from "vitest";
import { diffSnapshots } from "../../src/fleet/diff.ts";
import { nextSnapshot } from "../../src/fleet/next-snapshot.ts";
import { runAtOnce } from "../../src/fleet/slices.ts";
import { fixedCases, randomCases } from "../support/random-cases.ts";
import { asListed, emptySnapshot, restoreSnapshot } from "../../src/fleet/snapshot.ts";
import { findSandbox, findServer } from "../../src/fleet/snapshot.ts";
import type { Snapshot } from "../../src/fleet/snapshot.ts";
import { createListingReader } from "../../src/service/listing-reader.ts";
import type { ListingOutcome } from "../../src/service/listing-reader.ts";
import { boxes, inWords, listing, read, server } from "./support/listings.ts";
import { noFleet, plainStep } from "../fleet/support/plain-fleet.ts";
import { expectStep } from "../fleet/support/rows.ts";
import { randomSequence } from "./support/random-listings.ts";
import type { RandomPoll } from "./support/random-listings.ts";
import { inOrder, referenceReading } from "./support/reference-listing.ts";
import type { Reading } from "./support/reference-listing.ts";

const reader = await createListingReader();

/** What is said of a body, without what must be compared apart. */
function readingOf(outcome: ListingOutcome, known: Snapshot): Reading {
  if (outcome.kind === "refused") return "refused";
  const { deviations, unkept } = outcome;
  const { sandboxes, complete } = outcome.listing;
  const listed = sandboxes.map(asListed);
  const reading = { complete, unkept: unkept.count, deviations: inOrder(deviations) };
  return inContext({ sandboxes: listed, ...reading }, known);
}

/** For what has stated a status before, that it states none means the same as a word that is not known. */
function inContext(reading: Reading, known: Snapshot): Reading {
  if (reading === "refused") return reading;
  const sandboxes = reading.sandboxes.map((sandbox) => {
    const had = findSandbox(known, sandbox.id);
    const hasStated = had !== undefined && had.statedStatus !== null;
    const servers = sandbox.servers.map((each) => {
      const hadStated = findServer(known, sandbox.id, each.id)?.hasStated === true;
      return { ...each, status: each.status ?? (hadStated ? "unknown" : null) };
    });
    return { ...sandbox, status: sandbox.status ?? (hasStated ? "unknown" : null), servers };
  });
  return { ...reading, sandboxes };
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
    expect(readingOf(outcome, snapshot)).toEqual(inContext(reading, snapshot));
    if (outcome.kind === "refused" || reading === "refused") continue;
    const momentKnown = poll.momentKnown && reading.complete;
    const observation = { atMs: Math.round(atMs), observedMs: atMs, momentKnown, goneAfter };
    const next = runAtOnce(nextSnapshot(snapshot, outcome.listing, observation));
    const expected = plainStep(fleet, reading, observation);
    expectStep(next, runAtOnce(diffSnapshots(snapshot, next, observation)), expected);
    if (!poll.isDropped) [snapshot, fleet] = [next, expected.fleet];
  }
}

test(`${randomCases(200)} random sequences of bodies mean, poll after poll, what each means when it is parsed as a whole`, () => {
  fc.assert(fc.property(fc.nat(), play), fixedCases(200));
});

/** Bytes that no program wrote, or that something cut, spoilt or put together on the way. */
const listingText = fc.nat().map((seed) => randomSequence(seed, 2).polls[0]?.body ?? Buffer.of());
const place = fc.double({ min: 0, max: 1, noNaN: true });
const oddBody = fc.oneof(
  fc.uint8Array({ maxLength: 200 }).map((bytes) => Buffer.from(bytes)),
  fc.json().map((text) => Buffer.from(text)),
  fc
    .tuple(fc.jsonValue(), fc.jsonValue(), fc.jsonValue())
    .map(([a, b, c]) => Buffer.from(JSON.stringify({ local_sandboxes: [a, b], total_count: c }))),
  fc.tuple(listingText, place).map(([body, to]) => body.subarray(0, Math.floor(to * body.length))),
  fc
    .tuple(listingText, place, fc.uint8Array({ maxLength: 8 }), fc.nat(8))
    .map(([body, where, bytes, skipped]) => {
      const at = Math.floor(where * body.length);
      return Buffer.concat([body.subarray(0, at), bytes, body.subarray(at + skipped)]);
    }),
  fc.tuple(listingText, listingText).map((bodies) => Buffer.concat(bodies)),
);

test(`${randomCases(1_000)} random bodies, whole, cut and spoilt, mean what they mean when they are parsed as a whole`, () => {
  const counts = { complete: 0, partial: 0, failed: 0 };
  let known = emptySnapshot;
  fc.assert(
    fc.property(oddBody, listingText, fc.nat(5_000), (odd, usual, poll) => {
      for (const body of [odd, usual]) {
        const outcome = runAtOnce(reader.read(body, known, poll));
        const reading = referenceReading(body);
        expect(readingOf(outcome, known)).toEqual(inContext(reading, known));
        if (reading === "refused") counts.failed += 1;
        else counts[reading.complete ? "complete" : "partial"] += 1;
        if (outcome.kind === "read" && body === usual) {
          const observation = { atMs: 1, observedMs: 1, momentKnown: false, goneAfter: 1 };
          known = runAtOnce(nextSnapshot(known, outcome.listing, observation));
        }
      }
    }),
    fixedCases(500),
  );
  expect(Math.min(...Object.values(counts))).toBeGreaterThan(100);
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
    { numRuns: 100 },
  );
});
