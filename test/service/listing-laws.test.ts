import * as fc from "fast-check";
import { expect, test } from "vitest";
import type { ListedSandbox } from "../../src/fleet/snapshot.ts";
import type { JsonValue } from "../../src/service/json-value.ts";
import { inWords, listedSandbox, listing, read, sandbox, server } from "./support/listings.ts";

/** Without what no database can carry. */
const text = (maxLength: number) =>
  fc.string({ unit: "binary", maxLength }).map((each) => each.toWellFormed().replaceAll("\0", "-"));
const id = text(20).filter((each) => each !== "");
const status = fc.constantFrom("idle" as const, "occupied" as const, "error" as const);
const benchmark = fc.option(text(10));
const listed: fc.Arbitrary<ListedSandbox[]> = fc.uniqueArray(
  fc.record({
    id,
    status,
    benchmark,
    servers: fc.uniqueArray(
      fc.record({
        id,
        name: fc.option(text(10)),
        status,
        benchmark,
        tags: fc.array(text(5), { maxLength: 4 }),
      }),
      { selector: ({ id: serverId }) => serverId, maxLength: 5 },
    ),
  }),
  { selector: ({ id: sandboxId }) => sandboxId, maxLength: 5 },
);

test("what is written as promised is read back as it was, without a deviation", () => {
  fc.assert(
    fc.property(listed, (written) => {
      const { listing: taken, deviations } = read(listing(written.map(toWire)));
      expect([taken.sandboxes, taken.complete, deviations]).toEqual([written, true, []]);
    }),
  );
});

const anyStatus = fc.constantFrom("idle", "occupied", "error", null);
const duplicateServer = fc
  .record({
    id: fc.constantFrom("v1", "v2"),
    server_name: fc.constantFrom("a", "b", "", null),
    status: anyStatus,
    benchmark: fc.constantFrom("a", null),
    tags: fc.subarray(["a", "b"]),
  })
  .map((fields) => ({ ...server, ...fields }));
const duplicateSandbox = fc
  .record({
    local_sandbox_id: fc.constantFrom("s1", "s2"),
    status: anyStatus,
    benchmark: fc.constantFrom("a", "b", "", null),
    servers: fc.array(duplicateServer, { maxLength: 4 }),
  })
  .map((fields) => ({ ...sandbox, ...fields }));

test("what is taken of items listed several times does not depend on their order", () => {
  const inOrder = (items: readonly unknown[]) => {
    const outcome = read(listing(items, 2));
    const { complete } = outcome.listing;
    const sandboxes = outcome.listing.sandboxes.map((each) => ({
      ...each,
      servers: sorted(each.servers, ({ id: serverId }) => serverId),
    }));
    return {
      sandboxes: sorted(sandboxes, ({ id: sandboxId }) => sandboxId),
      complete,
      deviations: inWords(outcome).toSorted(),
    };
  };
  fc.assert(
    fc.property(fc.array(duplicateSandbox, { maxLength: 5 }), (items) => {
      const reversed = items
        .map((each) => ({ ...each, servers: each.servers.toReversed() }))
        .toReversed();
      expect(inOrder(reversed)).toEqual(inOrder(items));
    }),
    { numRuns: 300 },
  );
});

function sorted<T>(items: readonly T[], key: (item: T) => string): readonly T[] {
  return items.toSorted((a, b) => (key(a) < key(b) ? -1 : 1));
}

test("nothing out of what may be secret is kept", () => {
  const marker = "marker-4d1e";
  const secret: fc.Arbitrary<JsonValue> = fc.constantFrom(
    marker,
    [marker],
    { [marker]: marker },
    { a: { b: [marker] } },
  );
  const secretFields = fc.record(
    { mcp_server_url: secret, metadata: secret, auth_data: secret, updated_at: secret },
    { requiredKeys: [] },
  );
  fc.assert(
    fc.property(secretFields, secret, (fields, createdAt) => {
      const odd = { ...sandbox, created_at: createdAt, servers: [{ ...server, ...fields }] };
      const result = read(listing([odd]));
      expect(result.listing.sandboxes).toEqual([listedSandbox]);
      const { texts: _, ...shown } = result.listing;
      expect(JSON.stringify({ ...result, listing: shown })).not.toContain(marker);
    }),
  );
});

function toWire(listedOne: ListedSandbox) {
  return {
    local_sandbox_id: listedOne.id,
    created_at: "2026-02-16T12:45:25.770231-08:00",
    status: listedOne.status,
    benchmark: listedOne.benchmark,
    servers: listedOne.servers.map((each) => ({
      id: each.id,
      server_name: each.name,
      status: each.status,
      benchmark: each.benchmark,
      tags: each.tags,
    })),
  };
}
