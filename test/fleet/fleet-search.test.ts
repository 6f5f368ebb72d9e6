import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { searchedSandboxes, searchedServers } from "../../src/fleet/fleet-search.ts";
import { searchFleet, serverSorts, sortedWindow } from "../../src/fleet/fleet-search.ts";
import type { Found, sandboxSorts, Search } from "../../src/fleet/fleet-search.ts";
import type { Sandbox, Server } from "../../src/fleet/snapshot.ts";
import type { Status } from "../../src/fleet/model.ts";
import { runAtOnce } from "../../src/fleet/slices.ts";
import { listing, sandbox, server, snapshotOf, take } from "./support/listings.ts";

const seed = 20_261_126;
const compare = (a: number, b: number): number => a - b;

it("a window of what is sorted is what a sort of all has there, however the items are ordered", () => {
  const shuffled = fc.array(fc.integer({ min: 0, max: 5_000 }), { maxLength: 3_000, size: "max" });
  // As the lists of several targets are, each in order, one after another.
  const lists = fc
    .tuple(fc.integer({ min: 1, max: 8 }), fc.integer({ min: 1, max: 1_000 }))
    .map(([count, length]) =>
      Array.from({ length: count }, () => Array.from({ length }, (_, at) => at)).flat(),
    );
  fc.assert(
    fc.property(fc.oneof(shuffled, lists), fc.nat(3_000), fc.nat(100), (items, from, size) => {
      const window = runAtOnce(sortedWindow(items, { from, to: from + size }, compare));
      expect(window).toEqual(items.toSorted(compare).slice(from, from + size));
    }),
    { seed, numRuns: 60 },
  );
});

it("a window among many that are equal or ordered is found with few comparisons", () => {
  const count = 50_000;
  for (const item of [
    () => 7,
    (at: number) => at % 12_500,
    (at: number) => Math.abs(at - 25_000),
  ]) {
    let compared = 0;
    const counting = (a: number, b: number): number => {
      compared += 1;
      return a - b;
    };
    const items = Array.from({ length: count }, (_, at) => item(at));
    runAtOnce(sortedWindow(items, { from: 31_000, to: 31_100 }, counting));
    expect(compared).toBeLessThan(count * 8);
  }
});

type ServerSearch = Search<Server, (typeof serverSorts)[number]>;
type FoundServer = Found<Server>;

const everything = { isWanted: () => true, statuses: new Set<never>(), offset: 0, limit: 1_000 };
const all: ServerSearch = { ...everything, sort: { by: "target", descending: false } };

const words = ["idle", "occupied", "error", "unknown"] as const;
/** Listed against the order of their ids. */
const [first, second] = ["a", "b"].map((letter, target) => ({
  stale: target === 1,
  snapshot: snapshotOf(
    listing(
      ...Array.from({ length: 2_000 }, (_, at) =>
        sandbox(`${letter}-${String(9_999 - at)}`, [
          server("one", words[at % 4] ?? "idle", { name: `name-${at % 7}` }),
          server("two", "idle", { name: null }),
        ]),
      ),
    ),
  ),
}));
const targets = [first, second].flatMap((target) => target ?? []);

function search(query: Partial<ServerSearch>) {
  const { items: servers, ...found } = runAtOnce(
    searchFleet(targets, searchedServers, { ...all, ...query }),
  );
  return { servers, ...found };
}

const idOf = ({ target, sandbox: { id }, item }: FoundServer): string =>
  `${target} ${id} ${item.id}`;

describe("a search of servers", () => {
  it("counts all in their statuses, and those of stale targets as unobserved", () => {
    const { total, counts, servers } = search({ statuses: new Set(["error", "unknown"]) });
    expect(counts).toEqual({
      idle: 2_500,
      occupied: 500,
      error: 500,
      unknown: 500,
      unobserved: 4_000,
    });
    expect(total).toBe(1_000);
    expect(new Set(servers.map(({ status }) => status))).toEqual(new Set(["error", "unknown"]));
    expect(search({ statuses: new Set(["unobserved"]) }).total).toBe(4_000);
    const named = search({ isWanted: ({ name }) => name === "name-3" });
    expect(named.total).toBe(Object.values(named.counts).reduce((sum, each) => sum + each));
    expect(named.total).toBe(572);
  });

  it("gives the same order in windows as at once, each server once, for every sort", () => {
    for (const by of serverSorts) {
      for (const descending of [false, true]) {
        const sort = { by, descending };
        const whole = search({ sort, limit: 10_000 }).servers.map(idOf);
        expect(new Set(whole).size).toBe(8_000);
        const windows = [];
        for (let offset = 0; offset < 8_000; offset += 1_300) {
          windows.push(...search({ sort, offset, limit: 1_300 }).servers.map(idOf));
        }
        expect(windows).toEqual(whole);
      }
    }
    expect(search({ offset: 8_000 }).servers).toEqual([]);
  });

  it("sorts by name, by urgency, by the time in the status and by target", () => {
    const by = (sort: ServerSearch["sort"], limit = 3) => search({ sort, limit }).servers;
    const nameOf = (each: FoundServer): string | null => each.item.name;
    expect(by({ by: "name", descending: true }).map(nameOf)).toEqual(Array(3).fill("name-6"));
    const order = search({ sort: { by: "status", descending: false }, limit: 8_000 }).servers;
    expect([...new Set(order.map(({ status }) => status))]).toEqual([
      "error",
      "unknown",
      "occupied",
      "idle",
      "unobserved",
    ]);
    expect(by({ by: "target", descending: false }).map(idOf)).toEqual([
      "0 a-8000 one",
      "0 a-8000 two",
      "0 a-8001 one",
    ]);
    const { snapshot: earlier } = take(
      snapshotOf(),
      listing(sandbox("x", [server("old", "idle")])),
    );
    const later = listing(sandbox("x", [server("old", "idle"), server("new", "idle")]));
    const { snapshot } = take(earlier, later, { atMs: 2_000 });
    const oldest = searchFleet([{ snapshot, stale: false }], searchedServers, {
      ...all,
      sort: { by: "since", descending: false },
    });
    expect(runAtOnce(oldest).items.map((each) => each.item.id)).toEqual(["old", "new"]);
  });

  it("is done in many slices", () => {
    expect(
      [...searchFleet(targets, searchedServers, { ...all, offset: 3_000 })].length,
    ).toBeGreaterThan(6);
  });
});

describe("a search of sandboxes", () => {
  const since = { observedMs: 0, momentKnown: true };
  const plain = { benchmark: null, missing: 0, servers: [] };
  const box = (id: string, status: Status, atMs: number, createdAt: number | null): Sandbox => {
    return { ...plain, id, status, statedStatus: status, createdAt, since: { ...since, atMs } };
  };
  const one = [box("b", "idle", 1, 30), box("a", "error", 2, null), box("d", "error", 3, 10)];
  const fleet = [
    { snapshot: { sandboxes: one }, stale: false },
    { snapshot: { sandboxes: [box("c", "error", 0, 20)] }, stale: true },
  ];
  const find = (by: (typeof sandboxSorts)[number], descending = false) => {
    const query = { ...everything, sort: { by, descending } };
    return runAtOnce(searchFleet(fleet, searchedSandboxes, query));
  };

  it.each([
    ["id", "a b c d"],
    // The latest first of one status.
    ["status", "d a b c"],
    ["since", "c b a d"],
    ["target", "a b d c"],
    ["created", "d c b a"],
  ] as const)("sorts by %s", (by, order) => {
    const idsOf = (descending: boolean): string =>
      find(by, descending)
        .items.map(({ item }) => item.id)
        .join(" ");
    expect(idsOf(false)).toBe(order);
    // Those of one target keep the order of their ids.
    const reversed = by === "target" ? "c a b d" : order.split(" ").toReversed().join(" ");
    expect(idsOf(true)).toBe(reversed);
  });

  it("counts them, also those without servers, and those of stale targets as unobserved", () => {
    expect(find("id").counts).toEqual({
      idle: 1,
      occupied: 0,
      error: 2,
      unknown: 0,
      unobserved: 1,
    });
  });
});
