import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { statuses } from "../../../src/core/model.ts";
import type { Status } from "../../../src/core/model.ts";
import { emptySnapshot } from "../../../src/core/snapshot/packed-snapshot.ts";
import { restoreSnapshot } from "../../../src/core/snapshot/restore-snapshot.ts";
import type { Snapshot } from "../../../src/core/snapshot/snapshot.ts";
import { maxDistinctNames } from "../../../src/core/snapshot/tallies.ts";
import type { CountByStatus } from "../../../src/core/snapshot/tallies.ts";
import { listedServer, listingOf } from "../support/samples.ts";
import { bring, contentOf, listings, snapshotOf } from "../support/worlds.ts";

function count(rows: readonly { readonly status: Status }[]): CountByStatus {
  const of = (wanted: Status): number => rows.filter(({ status }) => status === wanted).length;
  return { idle: of("idle"), occupied: of("occupied"), error: of("error"), unknown: of("unknown") };
}

/** The tallies as they would be counted from the rows, names without a server left out. */
function bruteForce(snapshot: Snapshot) {
  const byName = Map.groupBy(snapshot.servers(), (row) => row.serverName ?? "");
  return new Map(
    [...byName].map(([name, rows]) => [
      name,
      { name, servers: count(rows), listed: count(rows.filter(({ missing }) => missing === 0)) },
    ]),
  );
}

function isEmpty(counts: CountByStatus): boolean {
  return statuses.every((status) => counts[status] === 0);
}

describe("tallies", () => {
  it("always are what a count of the rows would give", () => {
    fc.assert(
      fc.property(
        fc.array(listings, { maxLength: 8 }),
        fc.integer({ min: 1, max: 3 }),
        (seen, goneAfter) => {
          let snapshot = emptySnapshot;
          const everNamed = new Set<string>();
          for (const listing of seen) {
            ({ snapshot } = bring(snapshot, listing, { goneAfter }));
            for (const { serverName } of snapshot.servers()) everNamed.add(serverName ?? "");
            const tallies = [...snapshot.tallies()];
            expect(new Set(tallies.map(({ name }) => name))).toEqual(everNamed);
            const filled = tallies.filter(({ servers }) => !isEmpty(servers));
            expect(new Map(filled.map((tally) => [tally.name, tally]))).toEqual(
              bruteForce(snapshot),
            );
            const hollow = tallies.filter(({ servers }) => isEmpty(servers));
            expect(hollow.every(({ listed }) => isEmpty(listed))).toBe(true);
            expect(snapshot.sandboxTally).toEqual(count([...snapshot.sandboxes()]));
            expect(snapshot.serverCount).toBe([...snapshot.servers()].length);
          }
        },
      ),
    );
  });

  it("keep the name of a server that is gone, so that no series vanishes", () => {
    const snapshot = snapshotOf(listingOf(listedServer("a", "error")), listingOf());
    const none = { idle: 0, occupied: 0, error: 0, unknown: 0 };
    expect([...snapshot.tallies()]).toEqual([{ name: "github", servers: none, listed: none }]);
  });

  it("count a missing server among the servers, but not among the listed", () => {
    const before = snapshotOf(listingOf(listedServer("a", "error")));
    const { snapshot } = bring(before, listingOf(), { goneAfter: 2 });
    const [tally] = snapshot.tallies();
    expect([tally?.servers.error, tally?.listed.error]).toEqual([1, 0]);
  });
});

describe("past the limit of distinct names", () => {
  const named = (names: number) =>
    listingOf(
      ...Array.from({ length: names }, (_, index) =>
        listedServer(`server-${index}`, "idle", { serverName: `name-${index}` }),
      ),
    );
  const withNames = (names: number) => snapshotOf(named(names));
  const otherIn = (snapshot: Snapshot) =>
    [...snapshot.tallies()].find(({ name }) => name === "other");

  it("further names are counted as `other`, and leave it again", () => {
    const before = withNames(maxDistinctNames + 3);
    expect([...before.tallies()]).toHaveLength(maxDistinctNames + 1);
    expect(otherIn(before)?.servers.idle).toBe(3);
    const { snapshot } = bring(before, named(maxDistinctNames + 2));
    expect(otherIn(snapshot)?.servers.idle).toBe(2);
  });

  it("a name that was there before keeps its own, however many came since", () => {
    const snapshot = withNames(maxDistinctNames + 3);
    expect(snapshot.aggregateName("name-0")).toBe("name-0");
    expect(snapshot.aggregateName(`name-${maxDistinctNames}`)).toBe("other");
    expect(snapshot.aggregateName(null)).toBe("other");
  });

  it("the last name within the limit is still its own", () => {
    expect([...withNames(maxDistinctNames).tallies()].map(({ name }) => name)).not.toContain(
      "other",
    );
  });
});

describe("a snapshot", () => {
  it("is the same when it is built again from its pages", () => {
    fc.assert(
      fc.property(fc.array(listings, { maxLength: 5 }), (seen) => {
        let snapshot = emptySnapshot;
        for (const listing of seen) ({ snapshot } = bring(snapshot, listing, { goneAfter: 2 }));
        const again = restoreSnapshot(snapshot.pages);
        expect(contentOf(again)).toEqual(contentOf(snapshot));
        expect([...again.servers()]).toEqual([...snapshot.servers()]);
        expect(new Map(Array.from(again.tallies(), (tally) => [tally.name, tally]))).toEqual(
          bruteForce(snapshot),
        );
        expect(again.sandboxTally).toEqual(snapshot.sandboxTally);
        expect(again.serverCount).toBe(snapshot.serverCount);
      }),
    );
  });

  it("gives the servers of a sandbox, and none of one that it does not know", () => {
    const snapshot = snapshotOf(listingOf(listedServer("a", "idle"), listedServer("b", "error")));
    expect(Array.from(snapshot.serversOf("box"), ({ serverId }) => serverId)).toEqual(["a", "b"]);
    expect([...snapshot.serversOf("nowhere")]).toEqual([]);
    expect(snapshot.server("nowhere", "a")).toBeUndefined();
    expect(snapshot.server("box", "c")).toBeUndefined();
  });
});
