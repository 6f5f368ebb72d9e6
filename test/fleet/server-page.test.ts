import * as fc from "fast-check";
import { expect, it } from "vitest";
import { pageOfServers, type ServerPageQuery } from "../../src/fleet/server-page.ts";
import { runAtOnce } from "../../src/fleet/slices.ts";
import { eachServer, type PlacedServer, type Snapshot } from "../../src/fleet/snapshot.ts";
import { listing, listings, sandbox, server, snapshotOf } from "./support/listings.ts";

type Place = NonNullable<ServerPageQuery["after"]>;

function placeOf({ sandbox: { id }, server: { id: serverId } }: PlacedServer): Place {
  return { sandboxId: id, serverId };
}

function read(snapshot: Snapshot, query: Partial<ServerPageQuery>): readonly Place[] {
  const all = { after: null, limit: 1_000, isWanted: () => true };
  return runAtOnce(pageOfServers(snapshot, { ...all, ...query })).map(placeOf);
}

function inOrder(places: readonly Place[]): readonly Place[] {
  const compare = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);
  return places.toSorted(
    (a, b) => compare(a.sandboxId, b.sandboxId) || compare(a.serverId, b.serverId),
  );
}

it("page after page are all servers in order of their ids, whatever order they are listed in", () => {
  fc.assert(
    fc.property(listings, fc.integer({ min: 1, max: 7 }), (listed, limit) => {
      const snapshot = snapshotOf(listed);
      const found: Place[] = [];
      for (let after: Place | null = null; ;) {
        const page = read(snapshot, { after, limit });
        found.push(...page);
        after = page.at(-1) ?? null;
        if (page.length < limit) break;
      }
      expect(found).toEqual(inOrder(Array.from(eachServer(snapshot), placeOf)));
    }),
    { seed: 20_261_125 },
  );
});

it("the first ones that are wanted are found among many, in many slices", () => {
  const count = 20_000;
  const sandboxes = Array.from({ length: count }, (_, at) =>
    sandbox(`box-${(at * 7_919) % count}`, [server("s", at % 1_000 === 0 ? "error" : "idle")]),
  );
  const snapshot = snapshotOf(listing(...sandboxes));
  const query: ServerPageQuery = {
    after: null,
    limit: 5,
    isWanted: ({ status }) => status === "error",
  };
  const failed = [...eachServer(snapshot)].filter((each) => each.server.status === "error");
  expect(read(snapshot, query)).toEqual(inOrder(failed.map(placeOf)).slice(0, 5));
  expect([...pageOfServers(snapshot, query)].length).toBeGreaterThan(10);
});
