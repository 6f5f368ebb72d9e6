import { describe, expect, it } from "vitest";
import { statuses } from "../../../src/core/model.ts";
import type { Status } from "../../../src/core/model.ts";
import { emptySnapshot } from "../../../src/core/snapshot/packed-snapshot.ts";
import { listedSandbox, listedServer, listingOf } from "../support/samples.ts";
import { bring, snapshotOf } from "../support/worlds.ts";
import type { Listing } from "../../support/listing.ts";

const idle = listedServer("a", "idle");
const broken = listedServer("a", "error");
const change = { sandboxId: "box", serverId: "a", serverName: "github" };

describe("a change", () => {
  it("is told of a server that appears: it was absent before", () => {
    const { changes } = bring(emptySnapshot, listingOf(broken));
    expect(changes).toEqual([{ ...change, from: "absent", to: "error", stayMs: null }]);
  });

  it("is told of a status that is another, with how long the one before lasted", () => {
    const before = bring(emptySnapshot, listingOf(idle), { atMs: 1_000 }).snapshot;
    const { changes, snapshot } = bring(before, listingOf(broken), { atMs: 61_000 });
    expect(changes).toEqual([{ ...change, from: "idle", to: "error", stayMs: 60_000 }]);
    expect(snapshot.server("box", "a")).toMatchObject({ sinceMs: 61_000, sinceWitnessed: true });
  });

  it.each([{ serverName: "git" }, { benchmark: "MCP_Atlas" }, { tags: ["prod"] }])(
    "is not told of another attribute, though the snapshot takes it over: %j",
    (edit) => {
      const before = snapshotOf(listingOf(idle));
      const edited = listingOf({ ...idle, ...edit });
      const { changes, snapshot } = bring(before, edited, { atMs: 9_000 });
      expect(changes).toEqual([]);
      expect(snapshot.server("box", "a")).toMatchObject({ ...idle, ...edit, sinceMs: 1_000 });
    },
  );

  it("of a server's tags is noticed in any place and number", () => {
    let before = snapshotOf(listingOf({ ...idle, tags: ["a", "b"] }));
    for (const tags of [["b", "a"], ["b"], []]) {
      const { snapshot, sighting } = bring(before, listingOf({ ...idle, tags }));
      expect([...sighting.touched(new Set(statuses))].flat()).toHaveLength(1);
      expect(snapshot.server("box", "a")?.tags).toEqual(tags);
      before = snapshot;
    }
  });

  it("of a sandbox alone touches none of its servers", () => {
    const before = snapshotOf(listingOf(idle));
    const sandboxes = [listedSandbox("box", [idle], { status: "error" })];
    const { snapshot, sighting, changes } = bring(before, { sandboxes, complete: true });
    expect(snapshot.sandbox("box")?.status).toBe("error");
    expect([[...sighting.touched(new Set(statuses))].flat(), changes]).toEqual([[], []]);
  });
});

describe("a listing in which very many servers changed", () => {
  const all = (status: Status): Listing =>
    listingOf(
      ...Array.from({ length: 9_000 }, (_, index) => listedServer(`server-${index}`, status)),
    );
  const { sighting, snapshot } = bring(snapshotOf(all("idle")), all("error"), { atMs: 9_000 });

  it.each([
    ["changed", () => [...sighting.touched(new Set(statuses))]],
    ["were listed", () => [...sighting.listed(new Set(statuses))]],
  ])("is told of in several runs, which have every server that %s once", (_, runsOf) => {
    const runs = runsOf();
    expect(runs.length).toBeGreaterThan(1);
    const ids = runs.flat().map((each) => ("server" in each ? each.server : each).serverId);
    expect([ids.length, new Set(ids).size]).toEqual([9_000, 9_000]);
  });

  it("gives each of them the time of the change", () => {
    expect(new Set(Iterator.from(snapshot.servers()).map(({ sinceMs }) => sinceMs))).toEqual(
      new Set([9_000]),
    );
  });
});

describe("how long a status lasted", () => {
  it("is measured on the clock that runs while the target is watched, whatever the time of day", () => {
    const { snapshot } = bring(emptySnapshot, listingOf(idle), { atMs: 10_000, observedMs: 1_000 });
    const { changes } = bring(snapshot, listingOf(broken), { atMs: 9_000, observedMs: 6_000 });
    expect(changes[0]?.stayMs).toBe(5_000);
  });

  it("is unknown when its beginning was not witnessed", () => {
    const { snapshot } = bring(emptySnapshot, listingOf(idle), { witnessed: false });
    expect(bring(snapshot, listingOf(broken)).changes[0]?.stayMs).toBeNull();
  });

  it("is unknown when its end was not witnessed, nor is the beginning of the next", () => {
    const before = snapshotOf(listingOf(idle));
    const { changes, snapshot } = bring(before, listingOf(broken), { witnessed: false });
    expect(changes[0]?.stayMs).toBeNull();
    expect(snapshot.server("box", "a")?.sinceWitnessed).toBe(false);
  });

  it("is unknown when the server was missing before it was seen in another one", () => {
    const { snapshot } = bring(snapshotOf(listingOf(idle)), listingOf(), { goneAfter: 3 });
    const { changes } = bring(snapshot, listingOf(broken), { goneAfter: 3 });
    expect(changes).toMatchObject([{ from: "idle", to: "error", stayMs: null }]);
  });

  it("is known of a server that is gone only when the first listing without it proves it", () => {
    const lastOf = (goneAfter: number, witnessed: boolean) => {
      let snapshot = snapshotOf(listingOf(idle));
      for (let poll = 1; poll < goneAfter; poll += 1) {
        ({ snapshot } = bring(snapshot, listingOf(), { goneAfter }));
      }
      return bring(snapshot, listingOf(), { goneAfter, witnessed, atMs: 31_000 }).changes;
    };
    const gone = { ...change, from: "idle", to: "absent" };
    expect(lastOf(1, true)).toEqual([{ ...gone, stayMs: 30_000 }]);
    expect(lastOf(1, false)).toEqual([{ ...gone, stayMs: null }]);
    expect(lastOf(2, true)).toEqual([{ ...gone, stayMs: null }]);
  });
});

describe("a server that is missing", () => {
  it("keeps its status and its since, and is counted again from the start once it was seen", () => {
    const missed = bring(snapshotOf(listingOf(idle)), listingOf(), { goneAfter: 2, atMs: 5_000 });
    expect(missed.changes).toEqual([]);
    expect(missed.snapshot.server("box", "a")).toMatchObject({ status: "idle", missing: 1 });
    const seen = bring(missed.snapshot, listingOf(idle), { goneAfter: 2, atMs: 6_000 });
    expect(seen.snapshot.server("box", "a")).toMatchObject({ sinceMs: 1_000, missing: 0 });
    const again = bring(seen.snapshot, listingOf(), { goneAfter: 2 });
    expect(again.changes).toEqual([]);
    expect(bring(again.snapshot, listingOf(), { goneAfter: 2 }).changes).toMatchObject([
      { to: "absent" },
    ]);
  });

  it("is not counted by partial listings, nor do they start the count anew", () => {
    const partial = { ...listingOf(), complete: false };
    const missed = bring(snapshotOf(listingOf(idle)), listingOf(), { goneAfter: 2 });
    const { snapshot } = bring(missed.snapshot, partial, { goneAfter: 2 });
    expect(snapshot.server("box", "a")?.missing).toBe(1);
    expect(bring(snapshot, listingOf(), { goneAfter: 2 }).changes).toMatchObject([
      { to: "absent" },
    ]);
  });

  it("leaves its sandbox's count of listings to start anew as well once that was seen", () => {
    let snapshot = snapshotOf(listingOf());
    const nothing = { sandboxes: [], complete: true };
    for (const listing of [nothing, listingOf(), nothing]) {
      ({ snapshot } = bring(snapshot, listing, { goneAfter: 2 }));
      expect(snapshot.sandbox("box")).toBeDefined();
    }
    ({ snapshot } = bring(snapshot, nothing, { goneAfter: 2 }));
    expect(snapshot.sandbox("box")).toBeUndefined();
  });

  it("goes with its sandbox, whose other rows it does not outlive", () => {
    const { snapshot, sighting } = bring(snapshotOf(listingOf(idle)), {
      sandboxes: [],
      complete: true,
    });
    expect(sighting.isRemoved({ sandboxId: "box", serverId: "a" })).toBe(true);
    expect([snapshot.serverCount, [...snapshot.sandboxes()]]).toEqual([0, []]);
  });

  it("leaves a sandbox that is still listed, though nothing is in it", () => {
    const snapshot = snapshotOf(listingOf(idle), listingOf());
    expect(snapshot.sandbox("box")).toBeDefined();
    expect(snapshot.serverCount).toBe(0);
  });

  it("is not listed, nor is one that a partial listing left out of its sandbox", () => {
    const a = { sandboxId: "box", serverId: "a" };
    for (const complete of [true, false]) {
      const listing = { ...listingOf(), complete };
      const { sighting } = bring(snapshotOf(listingOf(idle)), listing, { goneAfter: 2 });
      expect([sighting.listedServer(a), sighting.isRemoved(a)]).toEqual([null, false]);
    }
  });
});
