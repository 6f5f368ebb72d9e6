import * as fc from "fast-check";
import { expect, it } from "vitest";
import { pageOfItems, sandboxItself, serversOf } from "../../src/fleet/fleet-page.ts";
import type { PageQuery } from "../../src/fleet/fleet-page.ts";
import { runAtOnce } from "../../src/fleet/slices.ts";
import {
  eachServer,
  type PlacedServer,
  type Server,
  type Snapshot,
} from "../../src/fleet/snapshot.ts";
import { listing, listings, sandbox, server as serverOf, snapshotOf } from "./support/listings.ts";

type Place = NonNullable<PageQuery<Server>["after"]>;

const all = { after: null, limit: 1_000, isWanted: () => true };

function placeOf({ sandbox: { id }, server }: PlacedServer): Place {
  return { sandboxId: id, id: server.id };
}

function read(snapshot: Snapshot, query: Partial<PageQuery<Server>>): readonly Place[] {
  const found = runAtOnce(pageOfItems(snapshot, serversOf, { ...all, ...query }));
  return found.map(({ sandbox: box, item }) => placeOf({ sandbox: box, server: item }));
}

function inOrder(places: readonly Place[]): readonly Place[] {
  const compare = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);
  return places.toSorted((a, b) => compare(a.sandboxId, b.sandboxId) || compare(a.id, b.id));
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
    sandbox(`box-${(at * 7_919) % count}`, [serverOf("s", at % 1_000 === 0 ? "error" : "idle")]),
  );
  const snapshot = snapshotOf(listing(...sandboxes));
  const query: PageQuery<Server> = {
    after: null,
    limit: 5,
    isWanted: ({ status }) => status === "error",
  };
  const failed = [...eachServer(snapshot)].filter((each) => each.server.status === "error");
  expect(read(snapshot, query)).toEqual(inOrder(failed.map(placeOf)).slice(0, 5));
  expect([...pageOfItems(snapshot, serversOf, query)].length).toBeGreaterThan(10);
});

it("page after page are all sandboxes, also those without servers", () => {
  fc.assert(
    fc.property(listings, fc.integer({ min: 1, max: 3 }), (listed, limit) => {
      const snapshot = snapshotOf(listed);
      const found: string[] = [];
      for (;;) {
        const id = found.at(-1);
        const after = id === undefined ? null : { sandboxId: id, id };
        const query = { ...all, after, limit };
        const page = runAtOnce(pageOfItems(snapshot, sandboxItself, query));
        found.push(...page.map(({ item }) => item.id));
        if (page.length < limit) break;
      }
      expect(found).toEqual(snapshot.sandboxes.map((each) => each.id).toSorted());
    }),
    { seed: 20_261_128 },
  );
});
