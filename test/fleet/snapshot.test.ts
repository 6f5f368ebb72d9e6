import { describe, expect, it } from "vitest";
import { diffSnapshots, statusAfter, statusBefore } from "../../src/fleet/diff.ts";
import { nextSnapshot } from "../../src/fleet/next-snapshot.ts";
import { runAtOnce } from "../../src/fleet/slices.ts";
import { emptySnapshot, findServer } from "../../src/fleet/snapshot.ts";
import type { ListedSandbox, Listing, Sandbox, SandboxText } from "../../src/fleet/snapshot.ts";
import type { Snapshot } from "../../src/fleet/snapshot.ts";
import { aggregateName, maxDistinctNames, noneByStatus } from "../../src/fleet/tallies.ts";
import { boxOf, listing, sandbox, server, snapshotOf, take } from "./support/listings.ts";

const idle = server("a", "idle");
const broken = server("a", "error");
const observation = { atMs: 1, observedMs: 1, momentKnown: true, goneAfter: 3 };

it("another attribute is no change, though the server differs", () => {
  for (const edit of [{ name: "git" }, { benchmark: "MCP_Atlas" }, { tags: ["prod"] }]) {
    const { diff } = take(snapshotOf(boxOf(idle)), boxOf({ ...idle, ...edit }));
    expect(diff.changes).toEqual([]);
    expect(diff.servers).toMatchObject([{ kind: "updated", before: idle, after: edit }]);
  }
});

it("how long a status lasted is measured on the clock of observed time, not on that of the day", () => {
  const { snapshot } = take(emptySnapshot, boxOf(idle), { atMs: 10_000, observedMs: 1_000 });
  const { diff } = take(snapshot, boxOf(broken), { atMs: 9_000, observedMs: 6_000 });
  expect(diff.changes[0]?.dwellMs).toBe(5_000);
});

describe("a server that moves to another sandbox", () => {
  const before = snapshotOf(listing(sandbox("one", [broken]), sandbox("two", [])));
  const after = listing(sandbox("one", []), sandbox("two", [broken]));

  it.each([1, 3])("appears there, with where it comes from: gone after %i", (goneAfter) => {
    const { diff } = take(before, after, { goneAfter });
    const appeared = diff.changes.find(({ kind }) => kind === "appeared");
    expect(appeared).toMatchObject({ sandboxId: "two", movedFrom: "one" });
  });

  it("is another one where its name differs, or others have its id too", () => {
    const renamed = listing(sandbox("one", []), sandbox("two", [{ ...broken, name: "git" }]));
    const twice = listing(sandbox("one", []), sandbox("two", [broken]), sandbox("three", [broken]));
    for (const other of [renamed, twice]) {
      const { changes } = take(before, other).diff;
      expect(changes.filter(({ movedFrom }) => movedFrom !== null)).toEqual([]);
    }
  });
});

it("what is the same object before and after is not looked at", () => {
  const { snapshot } = take(emptySnapshot, listing(sandbox("one", [idle]), sandbox("two", [idle])));
  const [one, two] = snapshot.sandboxes;
  if (!one || !two) throw new Error("there are two");
  const untouchable: Sandbox = {
    ...one,
    get servers(): never {
      throw new Error("it was looked at");
    },
  };
  const before = { ...snapshot, sandboxes: [untouchable, two] };
  const changed = {
    ...two,
    servers: two.servers.map((each) => ({ ...each, status: "error" as const })),
  };
  const after = { ...snapshot, sandboxes: [untouchable, changed] };
  const { changes } = runAtOnce(diffSnapshots(before, after, observation));
  expect(changes.map((each) => [statusBefore(each), statusAfter(each)])).toEqual([
    ["idle", "error"],
  ]);
});

describe("the text that a sandbox was read from", () => {
  const text: SandboxText = { length: 9, hash: 1n, rereadAt: 3, deviations: [] };
  const read = (before: Snapshot, ...listed: readonly ListedSandbox[]) => {
    const taken: Listing = { ...listing(...listed), texts: listed.map(() => text) };
    return runAtOnce(nextSnapshot(before, taken, observation));
  };
  const both = sandbox("box", [idle, server("b", "idle")]);

  it("is not known while a server is missing that it does not list: it is news each time", () => {
    const lacking = sandbox("box", [idle]);
    const first = read(read(emptySnapshot, both), lacking);
    expect(first.texts).toEqual([null]);
    const second = read(first, lacking);
    expect(findServer(second, "box", "b")?.missing).toBe(2);
    const third = read(second, lacking);
    expect([findServer(third, "box", "b"), third.texts]).toEqual([undefined, [text]]);
  });

  it("is replaced without replacing the sandbox, whose content it does not change", () => {
    const before = read(emptySnapshot, both);
    const other: SandboxText = { ...text, hash: 2n };
    const taken: Listing = { sandboxes: before.sandboxes, texts: [other], complete: true };
    const after = runAtOnce(nextSnapshot(before, taken, observation));
    expect(after.sandboxes[0]).toBe(before.sandboxes[0]);
    expect(after.texts).toEqual([other]);
  });
});

it("the index of sandboxes is the same map as long as none comes, goes or moves", () => {
  const before = snapshotOf(listing(sandbox("one", [idle]), sandbox("two", [idle])));
  const changed = take(before, listing(sandbox("one", [broken]), sandbox("two", [])));
  expect(changed.snapshot.places).toBe(before.places);
  const moved = take(before, listing(sandbox("two", [idle]), sandbox("one", [idle])));
  expect([...moved.snapshot.places.keys()]).toEqual(["two", "one"]);
});

it("a large listing is taken in many slices", () => {
  const many = Array.from({ length: 5_000 }, (_, at) => sandbox(`box-${at}`, [idle]));
  const taken: Listing = { sandboxes: many, texts: many.map(() => null), complete: true };
  expect([...nextSnapshot(emptySnapshot, taken, observation)].length).toBeGreaterThan(10);
});

describe("tallies", () => {
  it("keep the name of a server that is gone, so that no series vanishes", () => {
    const { names } = snapshotOf(boxOf(broken), boxOf()).tallies;
    expect([...names.values()]).toEqual([
      { name: "github", servers: noneByStatus, listed: noneByStatus },
    ]);
  });

  it("are the same object where nothing is counted otherwise, and so is the tally of each name", () => {
    const git = server("b", "idle", { name: "git" });
    const before = snapshotOf(boxOf(broken, git));
    const tagged = take(before, boxOf({ ...broken, tags: ["prod"] }, git)).snapshot;
    expect(tagged.tallies).toBe(before.tallies);
    const { tallies } = take(before, boxOf(broken, { ...git, status: "error" })).snapshot;
    expect(tallies.names.get("github")).toBe(before.tallies.names.get("github"));
    expect(tallies.names.get("git")?.servers.error).toBe(1);
  });
});

describe("past the limit of distinct names", () => {
  const named = (names: number) =>
    boxOf(
      ...Array.from({ length: names }, (_, at) => server(`${at}`, "idle", { name: `name-${at}` })),
    );

  it("further names are counted as `other`, and leave it again", () => {
    const before = snapshotOf(named(maxDistinctNames + 3));
    expect(before.tallies.names.size).toBe(maxDistinctNames + 1);
    expect(before.tallies.names.get("other")?.servers.idle).toBe(3);
    const { snapshot } = take(before, named(maxDistinctNames + 2));
    expect(snapshot.tallies.names.get("other")?.servers.idle).toBe(2);
  });

  it("a name that was there before keeps its own, however many came since", () => {
    const { tallies } = snapshotOf(named(maxDistinctNames + 3));
    expect(aggregateName(tallies, "name-0")).toBe("name-0");
    expect(aggregateName(tallies, `name-${maxDistinctNames}`)).toBe("other");
    expect(aggregateName(tallies, null)).toBe("other");
  });
});
