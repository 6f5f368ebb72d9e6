import { describe, expect, it } from "vitest";
import { diffSnapshots, statusAfter, statusBefore } from "../../src/fleet/diff.ts";
import { nextSnapshot } from "../../src/fleet/next-snapshot.ts";
import { runAtOnce } from "../../src/fleet/slices.ts";
import { emptySnapshot, findServer } from "../../src/fleet/snapshot.ts";
import type { ListedSandbox, Listing, Sandbox, SandboxText } from "../../src/fleet/snapshot.ts";
import type { Snapshot } from "../../src/fleet/snapshot.ts";
import type { Status } from "../../src/fleet/model.ts";
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

describe("a status that is not stated", () => {
  const after = (...listings: readonly (readonly [Status | null, ...(Status | null)[]])[]) => {
    const box = ([status, ...servers]: (typeof listings)[number]) =>
      listing(
        sandbox(
          "box",
          servers.map((each, at) => server(`${at}`, each)),
          { status },
        ),
      );
    const [found] = snapshotOf(...listings.map(box)).sandboxes;
    return [
      found?.status,
      found?.statedStatus,
      ...(found?.servers ?? []).map((each) => each.status),
    ];
  };

  it.each([
    ["of a server is what its sandbox states", [["error", null]], ["error", "error", "error"]],
    [
      "of a server is not what other servers state",
      [[null, null, "error"]],
      ["error", null, "unknown", "error"],
    ],
    [
      "of a sandbox is the worst that its servers state",
      [[null, "idle", "occupied"]],
      ["occupied", null, "idle", "occupied"],
    ],
    ["of a sandbox without servers is unknown", [[null]], ["unknown", null]],
    [
      "of a sandbox ignores servers that do not state one",
      [[null, null, "idle"]],
      ["idle", null, "unknown", "idle"],
    ],
    ["of a sandbox and its servers is unknown", [[null, null]], ["unknown", null, "unknown"]],
    [
      "of a server that has stated one is unknown",
      [
        ["idle", "error"],
        ["idle", null],
      ],
      ["idle", "idle", "unknown"],
    ],
    [
      "of a sandbox that has stated one is unknown",
      [
        ["error", "idle"],
        [null, "idle"],
      ],
      ["unknown", "unknown", "idle"],
    ],
    [
      "of a server follows its sandbox into unknown",
      [
        ["error", null],
        [null, null],
      ],
      ["unknown", "unknown", "unknown"],
    ],
    [
      "of a sandbox was stated where the word is unknown",
      [
        ["unknown", "idle"],
        [null, "idle"],
      ],
      ["unknown", "unknown", "idle"],
    ],
  ] as const)("%s", (_, listings, expected) => {
    expect(after(...listings)).toEqual(expected);
  });

  it("begins again for one that was gone", () => {
    const stated = listing(sandbox("box", [idle], { status: "error" }));
    const silent = listing(sandbox("box", [server("a", null)], { status: null }));
    const [again] = snapshotOf(stated, listing(), silent).sandboxes;
    expect(again).toMatchObject({ status: "unknown", statedStatus: null });
    expect(again?.servers).toMatchObject([{ status: "unknown", hasStated: false }]);
  });

  it("of a server that a listing lacks stays as it was, whatever its sandbox states", () => {
    const before = snapshotOf(listing(sandbox("box", [server("a", null)])));
    const lacking = sandbox("box", [], { status: "error" });
    for (const complete of [true, false]) {
      const { snapshot } = take(before, { sandboxes: [lacking], complete }, { goneAfter: 3 });
      expect(snapshot.sandboxes[0]).toMatchObject({
        status: "error",
        servers: [{ status: "idle" }],
      });
    }
  });

  it("changes 10,000 servers of a sandbox with it, and each of them once", () => {
    const many = Array.from({ length: 10_000 }, (_, at) => server(`${at}`, null));
    const before = snapshotOf(listing(sandbox("box", many)));
    const { snapshot, diff } = take(before, listing(sandbox("box", many, { status: "error" })));
    expect(diff.sandboxChanges).toMatchObject([{ kind: "changed", sandboxId: "box" }]);
    expect(diff.changes).toHaveLength(10_000);
    expect(snapshot.tallies.servers).toEqual({ ...noneByStatus, error: 10_000 });
  });
});

describe("a sandbox", () => {
  const box = (status: Status | null, more: Partial<ListedSandbox> = {}) =>
    listing(sandbox("box", [idle], { status, ...more }));

  it("appears, changes, is missing, is seen again and disappears, and its servers do not", () => {
    let before = emptySnapshot;
    const seen = [box("idle"), box("error"), listing(), box("error"), listing(), listing()].map(
      (each, at) => {
        const { snapshot, diff } = take(before, each, { atMs: at * 1_000, goneAfter: 2 });
        before = snapshot;
        const [found] = diff.sandboxes;
        const isChange = found?.kind !== "missing" && found?.kind !== "seen";
        expect(diff.sandboxChanges).toEqual(isChange ? diff.sandboxes : []);
        return (
          found && [
            found.kind,
            statusBefore(found),
            statusAfter(found),
            found.dwellMs,
            diff.changes.length,
          ]
        );
      },
    );
    expect(seen).toEqual([
      ["appeared", "absent", "idle", null, 1],
      ["changed", "idle", "error", 1_000, 0],
      ["missing", "error", "error", null, 0],
      ["seen", "error", "error", null, 0],
      ["missing", "error", "error", null, 0],
      ["gone", "error", "absent", null, 1],
    ]);
  });

  it("has had a status at an unknown moment where a server that spoke for it was missing before", () => {
    const before = take(snapshotOf(box(null)), listing(sandbox("box", [], { status: null })), {
      goneAfter: 3,
    });
    const { diff } = take(before.snapshot, listing(sandbox("box", [broken], { status: null })), {
      goneAfter: 3,
    });
    expect(diff.sandboxChanges).toMatchObject([
      { dwellMs: null, after: { status: "error", since: { momentKnown: false } } },
    ]);
  });

  it("is updated where it states the status that its servers stated for it, or another attribute differs", () => {
    for (const other of [
      box("idle"),
      box(null, { benchmark: "MCP_Atlas" }),
      box(null, { createdAt: 7 }),
    ]) {
      const { diff } = take(snapshotOf(box(null)), other);
      expect(diff.sandboxes).toMatchObject([{ kind: "updated" }]);
      expect([...diff.sandboxChanges, ...diff.changes]).toEqual([]);
    }
  });
});
