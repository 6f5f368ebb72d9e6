import { describe, expect, it, vi } from "vitest";
import { runAtOnce } from "../../src/fleet/slices.ts";
import { emptySnapshot } from "../../src/fleet/snapshot.ts";
import { createListingReader } from "../../src/service/listing-reader.ts";
import {
  boxes,
  bytesOf,
  countParsed,
  listing,
  quietPoll,
  read,
  reader,
  sandbox,
  server,
  take,
} from "./support/listings.ts";

describe("a text that is known", () => {
  it("is not parsed", () => {
    const body = listing(boxes(100));
    const before = take(body);
    const poll = quietPoll(before);
    expect(countParsed(() => expect(take(body, before, poll)).toBe(before))).toBe(0);
  });

  it("is known behind sandboxes that came, went, moved or changed, each of which costs a parse", () => {
    const items = boxes(100);
    const before = take(listing(items));
    const changed = { ...sandbox, local_sandbox_id: "s40", servers: [] };
    const edits: readonly (readonly [unknown[], number])[] = [
      [items.with(40, changed), 1],
      [items.toSpliced(40, 0, { ...sandbox, local_sandbox_id: "new" }), 1],
      [items.toSpliced(40, 1), 1],
      [[...items.slice(50), ...items.slice(0, 50)], 2],
    ];
    for (const [edited, parsed] of edits) {
      const poll = quietPoll(before);
      expect(countParsed(() => void read(listing(edited), before, poll))).toBe(parsed);
    }
    const reversed = read(listing(items.toReversed()), before).listing.sandboxes;
    expect(reversed).toEqual(before.sandboxes.toReversed());
    expect(reversed[0]).toBe(before.sandboxes[99]);
  });

  it("is replaced by another one that says the same, and the sandbox is not", () => {
    const touched = (at: string) =>
      listing(boxes(20, { servers: [{ ...server, updated_at: at }] }));
    const before = take(touched("2026-02-16T12:45:25.770231-08:00"));
    const after = take(touched("2026-02-16T12:45:55.123456-08:00"), before);
    expect(after.sandboxes).toEqual(before.sandboxes);
    expect(after.sandboxes.every((each, at) => each === before.sandboxes[at])).toBe(true);
    const again = touched("2026-02-16T12:45:55.123456-08:00");
    expect(countParsed(() => void take(again, after, quietPoll(after)))).toBe(0);
  });

  it("is not looked for where the whole body is known, until a byte of it changes", () => {
    const body = JSON.stringify(listing(boxes(20)));
    const before = take(body);
    const poll = quietPoll(before);
    take(body, before, poll);
    const other = body.replace('"s7"', '"t7"');
    expect(other.length).toBe(body.length);
    const parse = vi.spyOn(JSON, "parse");
    const [same, known] = [read(body, before, poll), parse.mock.calls.length];
    const changed = read(other, before, poll);
    const parsed = parse.mock.calls.length;
    parse.mockRestore();
    expect(same).toMatchObject({ partial: null, listing: { complete: true } });
    expect(same.listing.sandboxes).toBe(before.sandboxes);
    expect(known).toBe(0);
    expect(parsed).toBeGreaterThan(1);
    expect(changed.listing.sandboxes[7]?.id).toBe("t7");
  });

  it("is parsed all the same at one poll in 1,024", () => {
    const body = listing(boxes(40));
    const before = take(body);
    const parsed = Array.from({ length: 1_024 }, (_, poll) =>
      countParsed(() => expect(take(body, before, 5_000 + poll)).toBe(before)),
    );
    expect(parsed.reduce((sum, each) => sum + each)).toBe(40);
    expect(Math.max(...parsed)).toBeLessThan(10);
  });

  it("means nothing to another reader", async () => {
    const body = listing(boxes(5));
    const other = await createListingReader();
    const before = take(body);
    const parsed = countParsed(() => void runAtOnce(other.read(bytesOf(body), before, 0)));
    expect(parsed).toBe(5);
  });
});

it("what many servers have in common is kept once", () => {
  const servers = [{ ...server, tags: ["a", "b"] }];
  const [one, other] = read(listing(boxes(2, { servers }))).listing.sandboxes;
  expect(one?.servers[0]?.tags).toBe(other?.servers[0]?.tags);
});

it("a large body is read in many slices, each of a few items", () => {
  const body = bytesOf(listing(boxes(5_000)));
  expect([...reader.read(body, emptySnapshot, 0)].length).toBeGreaterThan(20);
  const before = take(body);
  expect([...reader.read(body, before, 0)].length).toBeGreaterThan(2);
});
