import { describe, expect, it } from "vitest";
import { diffSnapshots, statusAfter, statusBefore } from "../../src/fleet/diff.ts";
import { runAtOnce } from "../../src/fleet/slices.ts";
import { emptySnapshot } from "../../src/fleet/snapshot.ts";
import type { Sandbox } from "../../src/fleet/snapshot.ts";
import { boxOf, listing, sandbox, server, snapshotOf, take } from "./support/listings.ts";

const idle = server("a", "idle");
const broken = server("a", "error");

describe("a change", () => {
  it.each([{ name: "git" }, { benchmark: "MCP_Atlas" }, { tags: ["prod"] }])(
    "is not another attribute, though the server differs: %j",
    (edit) => {
      const { diff } = take(snapshotOf(boxOf(idle)), boxOf({ ...idle, ...edit }));
      expect(diff.changes).toEqual([]);
      expect(diff.servers).toMatchObject([{ kind: "updated", before: idle, after: edit }]);
    },
  );
});

describe("how long a status lasted", () => {
  it("is measured on the clock that runs while the target is observed, whatever the time of day", () => {
    const { snapshot } = take(emptySnapshot, boxOf(idle), { atMs: 10_000, observedMs: 1_000 });
    const { diff } = take(snapshot, boxOf(broken), { atMs: 9_000, observedMs: 6_000 });
    expect(diff.changes[0]?.dwellMs).toBe(5_000);
  });
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
      expect(take(before, other).diff.changes.every(({ movedFrom }) => movedFrom === null)).toBe(
        true,
      );
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
  const observation = { atMs: 2, observedMs: 2, momentKnown: true, goneAfter: 1 };
  const { changes } = runAtOnce(diffSnapshots(before, after, observation));
  expect(changes.map((each) => [statusBefore(each), statusAfter(each)])).toEqual([
    ["idle", "error"],
  ]);
});
