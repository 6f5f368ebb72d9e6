import { describe, expect, it } from "vitest";
import { runAtOnce } from "../../src/fleet/slices.ts";
import { nextSnapshot } from "../../src/fleet/next-snapshot.ts";
import { emptySnapshot, findServer } from "../../src/fleet/snapshot.ts";
import type { ListedSandbox, Listing, SandboxText, Snapshot } from "../../src/fleet/snapshot.ts";
import { boxOf, listing, sandbox, server, snapshotOf, take } from "./support/listings.ts";

const idle = server("a", "idle");
const broken = server("a", "error");

describe("since when a server has its status", () => {
  it("is one object for all servers that changed with one poll", () => {
    const { snapshot } = take(emptySnapshot, boxOf(idle, server("b", "error")));
    const [a, b] = snapshot.sandboxes[0]?.servers ?? [];
    expect(a?.since).toBe(b?.since);
  });
});

describe("the text that a sandbox was read from", () => {
  const text: SandboxText = { length: 9, hash: 1n, rereadAt: 3, deviations: [] };
  const read = (before: Snapshot, ...listed: readonly ListedSandbox[]) => {
    const taken: Listing = { ...listing(...listed), texts: listed.map(() => text) };
    const observation = { atMs: 1, observedMs: 1, momentKnown: true, goneAfter: 3 };
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
    const observation = { atMs: 2, observedMs: 2, momentKnown: true, goneAfter: 3 };
    const after = runAtOnce(nextSnapshot(before, taken, observation));
    expect(after.sandboxes[0]).toBe(before.sandboxes[0]);
    expect(after.texts).toEqual([other]);
  });
});

describe("the index of sandboxes", () => {
  it("is the same map as long as none comes, goes or moves", () => {
    const before = snapshotOf(listing(sandbox("one", [idle]), sandbox("two", [idle])));
    const changed = take(before, listing(sandbox("one", [broken]), sandbox("two", [])));
    expect(changed.snapshot.places).toBe(before.places);
    const moved = take(before, listing(sandbox("two", [idle]), sandbox("one", [idle])));
    expect([...moved.snapshot.places]).toEqual([
      ["two", 0],
      ["one", 1],
    ]);
  });
});

it("a large listing is taken in many slices", () => {
  const many = Array.from({ length: 5_000 }, (_, at) => sandbox(`box-${at}`, [idle]));
  const taken: Listing = { sandboxes: many, texts: many.map(() => null), complete: true };
  const observation = { atMs: 1, observedMs: 1, momentKnown: false, goneAfter: 1 };
  expect([...nextSnapshot(emptySnapshot, taken, observation)].length).toBeGreaterThan(10);
});
