import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { statuses } from "../../src/core/model.ts";
import type { Status } from "../../src/core/model.ts";
import { createSnapshot, maxDistinctNames } from "../../src/core/snapshot.ts";
import type { CountByStatus, ServerRow, Snapshot } from "../../src/core/snapshot.ts";
import { listedServer, listingOf } from "./support/samples.ts";
import { bring, contentOf, listings, snapshotOf } from "./support/worlds.ts";

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
          const snapshot = createSnapshot();
          const everNamed = new Set<string>();
          for (const listing of seen) {
            bring(snapshot, listing, { goneAfter });
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
    const snapshot = snapshotOf(listingOf(listedServer("a", "error")));
    bring(snapshot, listingOf(), { goneAfter: 2 });
    const [tally] = snapshot.tallies();
    expect([tally?.servers.error, tally?.listed.error]).toEqual([1, 0]);
  });
});

describe("past the limit of distinct names", () => {
  const server = (index: number): ServerRow => ({
    ...listedServer(`server-${index}`, "idle", { serverName: `name-${index}` }),
    sandboxId: "box",
    sinceMs: 0,
    sinceObservedMs: 0,
    sinceWitnessed: false,
    missing: 0,
  });
  const box = { sandboxId: "box", status: "idle", benchmark: null, missing: 0 } as const;
  const withNames = (names: number) => {
    const snapshot = createSnapshot();
    const servers = Array.from({ length: names }, (_, index) => server(index));
    snapshot.apply({ sandboxes: [box], servers, removedSandboxes: [], removedServers: [] });
    return snapshot;
  };

  it("further names are counted as `other`, and leave it again", () => {
    const snapshot = withNames(maxDistinctNames + 3);
    const other = () => [...snapshot.tallies()].find(({ name }) => name === "other");
    expect([...snapshot.tallies()]).toHaveLength(maxDistinctNames + 1);
    expect(other()?.servers.idle).toBe(3);
    const removedServers = [{ sandboxId: "box", serverId: `server-${maxDistinctNames}` }];
    snapshot.apply({ sandboxes: [], servers: [], removedSandboxes: [], removedServers });
    expect(other()?.servers.idle).toBe(2);
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
  it("is the same when it is built again from its rows", () => {
    fc.assert(
      fc.property(fc.array(listings, { maxLength: 5 }), (seen) => {
        const snapshot = createSnapshot();
        for (const listing of seen) bring(snapshot, listing, { goneAfter: 2 });
        const again = createSnapshot();
        again.apply({
          sandboxes: [...snapshot.sandboxes()],
          servers: [...snapshot.servers()],
          removedSandboxes: [],
          removedServers: [],
        });
        expect(contentOf(again)).toEqual(contentOf(snapshot));
        expect([...again.servers()]).toEqual([...snapshot.servers()]);
        expect(bruteForce(again)).toEqual(bruteForce(snapshot));
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

  it("takes the servers along when their sandbox is removed", () => {
    const snapshot = snapshotOf(listingOf(listedServer("a", "idle")));
    snapshot.apply({ sandboxes: [], servers: [], removedSandboxes: ["box"], removedServers: [] });
    expect([snapshot.serverCount, bruteForce(snapshot).size]).toEqual([0, 0]);
    expect([...snapshot.tallies()].every(({ servers }) => isEmpty(servers))).toBe(true);
  });

  it("refuses a server whose sandbox it does not know", () => {
    const row: ServerRow = {
      ...listedServer("a", "idle"),
      sandboxId: "nowhere",
      sinceMs: 0,
      sinceObservedMs: 0,
      sinceWitnessed: false,
      missing: 0,
    };
    const delta = { sandboxes: [], servers: [row], removedSandboxes: [], removedServers: [] };
    expect(() => createSnapshot().apply(delta)).toThrow(RangeError);
  });
});
