import { describe, expect, it } from "vitest";
import { atOnce } from "../../../src/core/in-steps.ts";
import type { ListedSandbox } from "../../../src/core/model.ts";
import { openIntake } from "../../../src/core/snapshot/intake.ts";
import { emptySnapshot } from "../../../src/core/snapshot/packed-snapshot.ts";
import type { PackedSnapshot } from "../../../src/core/snapshot/packed-snapshot.ts";
import { pageDelta } from "../../../src/core/snapshot/page-delta.ts";
import { markOf } from "../../../src/core/snapshot/marks.ts";
import { restoreSnapshot } from "../../../src/core/snapshot/restore-snapshot.ts";
import type { TextMark } from "../../../src/core/text-mark.ts";
import { nextTexts, theSame } from "../../support/came-texts.ts";
import { createMarkedReader } from "../support/marked-intake.ts";
import { listedSandbox, listedServer } from "../support/samples.ts";
import { takeIn } from "../../support/take-in.ts";
import { bring } from "../support/worlds.ts";

/** Of a text that no reader here would make. */
const later: TextMark = {
  length: 9,
  hash: 7n,
  steadyHash: 5n,
  steadyLength: 9,
  openStatuses: "none",
  note: 1,
};

const options = { complete: true, atMs: 1_000, observedMs: 1_000, witnessed: true };

function manySandboxes(count: number): readonly ListedSandbox[] {
  return Array.from({ length: count }, (_, index) =>
    listedSandbox(`box-${index}`, [listedServer("a", index % 2 === 0 ? "idle" : "error")]),
  );
}

function idsOf(snapshot: PackedSnapshot): readonly string[] {
  return Array.from(snapshot.sandboxes(), ({ sandboxId }) => sandboxId);
}

/** One reading after another by the same reader; gives how many sandboxes the last one skipped. */
function readAfter(first: readonly ListedSandbox[], second: readonly ListedSandbox[]) {
  const reader = createMarkedReader();
  const opened = openIntake(emptySnapshot, { goneAfter: 2 });
  reader.read(opened, first);
  const { snapshot } = atOnce(opened.finish(options));
  const intake = openIntake(snapshot, { goneAfter: 2 });
  reader.read(intake, second);
  return { skipped: reader.skipped, before: snapshot, sighting: atOnce(intake.finish(options)) };
}

describe("a sandbox whose text is known", () => {
  it("needs no reading, and neither page nor change comes of it", () => {
    const all = manySandboxes(500);
    const { skipped, before, sighting } = readAfter(all, all);
    expect(skipped).toBe(500);
    expect(sighting.changes.length).toBe(0);
    expect(sighting.snapshot.pages.every((page, index) => page === before.pages[index])).toBe(true);
  });

  it("is known again behind sandboxes that were left out, changed or came in between", () => {
    const all = manySandboxes(500);
    const second = all
      .toSpliced(400, 1, { ...listedSandbox("box-400", []) })
      .toSpliced(300, 0, listedSandbox("new", []))
      .toSpliced(100, 50);
    expect(readAfter(all, second).skipped).toBe(500 - 50 - 1);
  });

  it("is read once after a restart, and known again from then on", () => {
    const all = manySandboxes(500);
    const reader = createMarkedReader();
    const stored = bring(emptySnapshot, { sandboxes: all, complete: true }).snapshot.pages;
    const opened = openIntake(restoreSnapshot(stored), { goneAfter: 2 });
    reader.read(opened, all);
    expect(reader.skipped).toBe(0);
    const { snapshot } = atOnce(opened.finish(options));
    expect(snapshot.pages).toEqual(stored);
    reader.read(openIntake(snapshot, { goneAfter: 2 }), all);
    expect(reader.skipped).toBe(500);
  });

  it.each([
    ["in its place", (all: readonly ListedSandbox[]) => all],
    ["in another one at each poll", (all: readonly ListedSandbox[]) => all.toReversed()],
  ])("is read all the same at one poll in 1,024, %s", (_, reordered) => {
    const reader = createMarkedReader();
    let all: readonly ListedSandbox[] = manySandboxes(40);
    let snapshot = emptySnapshot;
    const readAt = (turn: number): readonly string[] => {
      const opened = openIntake(snapshot, { goneAfter: 2, turn });
      const read = reader.read(opened, all);
      ({ snapshot } = atOnce(opened.finish(options)));
      all = reordered(all);
      return read;
    };
    readAt(0);
    const read = Array.from({ length: 1_024 }, (__, turn) => readAt(1_000 + turn));
    expect(new Set(read.flat())).toEqual(new Set(all.map(({ sandboxId }) => sandboxId)));
    // One that comes where another must be read is read too.
    expect(read.flat().length).toBeLessThanOrEqual(2 * all.length);
    expect(Math.max(...read.map(({ length }) => length))).toBeLessThan(5);
  });

  it("is read at one poll in 1,024, though the others of its page are taken in a row", () => {
    const reader = createMarkedReader();
    const all = manySandboxes(40);
    let snapshot = emptySnapshot;
    const readAt = (turn: number): readonly string[] => {
      const opened = openIntake(snapshot, { goneAfter: 2, turn });
      const read = reader.read(opened, all);
      ({ snapshot } = atOnce(opened.finish(options)));
      return read;
    };
    readAt(0);
    const read = Array.from({ length: 1_024 }, (_, turn) => readAt(1 + turn)).flat();
    expect(read.toSorted()).toEqual(all.map(({ sandboxId }) => sandboxId).toSorted());
    expect(reader.skippedInRows).toBeGreaterThan(1_024 * 20);
  });

  it("is not expected of a version of its page that gave its room away", () => {
    const reader = createMarkedReader();
    const all = manySandboxes(4);
    const first = openIntake(emptySnapshot, { goneAfter: 2 });
    reader.read(first, all);
    const { snapshot } = atOnce(first.finish(options));
    const late = openIntake(snapshot, { goneAfter: 2 });
    expect(nextTexts(late, 4).marks).toHaveLength(4);
    const second = openIntake(snapshot, { goneAfter: 2 });
    reader.read(second, all.with(0, listedSandbox("box-0", [listedServer("a", "error")])));
    const next = atOnce(second.finish(options)).snapshot;
    expect(nextTexts(openIntake(next, { goneAfter: 2 }), 4).marks).toHaveLength(4);
    expect(nextTexts(late, 4).marks).toEqual([]);
  });

  it("is joined with its twin far before it, though the page that it is in came as it was", () => {
    const reader = createMarkedReader();
    const all = manySandboxes(5_000);
    let snapshot = emptySnapshot;
    const readAll = (listed: readonly ListedSandbox[]): number => {
      const opened = openIntake(snapshot, { goneAfter: 2 });
      reader.read(opened, listed);
      ({ snapshot } = atOnce(opened.finish(options)));
      return opened.sandboxCount;
    };
    for (let poll = 0; poll < 5; poll++) readAll(all);
    const twin = listedSandbox("box-4999", [listedServer("b", "error")]);
    expect(readAll([twin, ...all])).toBe(5_000);
    expect([...snapshot.serversOf("box-4999")].map(({ serverId }) => serverId)).toEqual(["b", "a"]);
  });

  it("is read at one poll in 1,024 in a body that is the known one at all others", () => {
    const reader = createMarkedReader();
    const sandboxes = manySandboxes(40);
    let snapshot = bring(emptySnapshot, { sandboxes, complete: true }).snapshot;
    const readAt = (turn: number): number => {
      const opened = openIntake(snapshot, { goneAfter: 2, turn });
      const read = reader.readBody(opened, { sandboxes, complete: true });
      const { snapshot: next, changes } = atOnce(opened.finish(options));
      expect([changes.length, next.pages]).toEqual([0, snapshot.pages]);
      snapshot = next;
      return read.length;
    };
    expect(readAt(7)).toBe(40);
    const reads = Array.from({ length: 2_048 }, (_, turn) => readAt(1_000 + turn));
    expect(reads.filter((read) => read === 40)).toHaveLength(2);
    expect(reader.skippedBodies).toBe(2_046);
  });

  it("is known by a later text that says the same, and its page stays the one it was", () => {
    const reader = createMarkedReader();
    const opened = openIntake(emptySnapshot, { goneAfter: 2 });
    reader.read(opened, manySandboxes(3));
    const before = atOnce(opened.finish(options)).snapshot;
    const [page] = before.pages;
    if (!page) throw new Error("there is a page");
    const marks = (): unknown[] => [0, 1, 2].map((at) => markOf(page, at));
    const known = marks();
    const intake = openIntake(before, { goneAfter: 2 });
    const next = nextTexts(intake, 3);
    expect(next.marks).toEqual(known);
    next.take([theSame, { other: later, statuses: ["error"] }, theSame]);
    const { snapshot } = atOnce(intake.finish(options));
    expect(snapshot.pages[0]).toBe(page);
    expect(marks()).toEqual(known.with(1, later));
  });

  it("is read on where another listing was taken meanwhile, and its mark is forgotten", () => {
    const reader = createMarkedReader();
    const opened = openIntake(emptySnapshot, { goneAfter: 2 });
    reader.read(opened, manySandboxes(3));
    const before = atOnce(opened.finish(options)).snapshot;
    const left = openIntake(before, { goneAfter: 2 });
    const next = nextTexts(left, 3);
    const taken = openIntake(before, { goneAfter: 2 });
    const [first, ...rest] = manySandboxes(3);
    if (!first) throw new Error("there is a sandbox");
    reader.read(taken, [{ ...first, status: "error" }, ...rest]);
    const { snapshot } = atOnce(taken.finish(options));
    atOnce(snapshot.settle());
    const [page] = snapshot.pages;
    if (!page) throw new Error("there is a page");
    const known = [0, 1, 2].map((at) => markOf(page, at));
    const other = { other: later, statuses: [] };
    next.take([theSame, other, other]);
    expect([0, 1, 2].map((at) => markOf(page, at))).toEqual(known);
  });
});

describe("a body that is the known one", () => {
  const all = manySandboxes(500);
  const body = { length: 9, hash: 1n };
  const readFirst = (before: PackedSnapshot, sandboxes: readonly ListedSandbox[]) => {
    const intake = openIntake(before, { goneAfter: 3 });
    takeIn(intake, sandboxes).cameIn(body);
    return atOnce(intake.finish(options)).snapshot;
  };

  it("gives the very snapshot that there was, with all that it holds listed", () => {
    const before = readFirst(emptySnapshot, all);
    const intake = openIntake(before, { goneAfter: 3 });
    expect(intake.knownBody).toEqual(body);
    intake.sameBody();
    expect(intake.sandboxCount).toBe(500);
    const sighting = atOnce(intake.finish(options));
    expect(sighting.snapshot).toBe(before);
    expect([...sighting.listed(new Set(["error"]))].flat()).toHaveLength(250);
    expect([...sighting.touched(new Set(["error"]))].flat()).toEqual([]);
    const known = { sandboxId: "box-1", serverId: "a" };
    expect(sighting.listedServer(known)).toMatchObject({ status: "error" });
    expect(sighting.listedServer({ ...known, serverId: "b" })).toBeNull();
    expect(sighting.isRemoved(known)).toBe(false);
  });

  it.each([
    ["a sandbox", all.slice(1)],
    ["a server", all.with(1, listedSandbox("box-1", []))],
  ])("must be read where it lacks %s that is not gone yet", (_, fewer) => {
    const before = readFirst(readFirst(emptySnapshot, all), fewer);
    expect(before.body).toBeNull();
    const again = readFirst(readFirst(before, fewer), fewer);
    expect([again.serverCount, again.body]).toEqual([499, body]);
  });

  it("is no longer known after any other one", () => {
    const before = readFirst(emptySnapshot, all);
    const intake = takeIn(openIntake(before, { goneAfter: 3 }), all);
    expect(atOnce(intake.finish({ ...options, complete: false })).snapshot.body).toBeNull();
  });

  it("is not said to have come where none is known", () => {
    expect(() => openIntake(emptySnapshot, { goneAfter: 3 }).sameBody()).toThrow(RangeError);
  });
});

describe("sandboxes that come in another order", () => {
  it("are kept in it, however far one was moved, and nothing changes", () => {
    const all = manySandboxes(6_000);
    const moved = [...all.slice(5_500), ...all.slice(0, 20), ...all.slice(20, 5_500).toReversed()];
    const { skipped, before, sighting } = readAfter(all, moved);
    // What is known by its text is learnt little by little: only the first few may be read.
    expect(skipped).toBeGreaterThan(5_980);
    expect(sighting.changes.length).toBe(0);
    expect(idsOf(sighting.snapshot)).toEqual(moved.map(({ sandboxId }) => sandboxId));
    expect(sighting.snapshot.serverCount).toBe(before.serverCount);
  });
});

describe("a sandbox that comes in between", () => {
  it.each([0, 500, 1_000])("takes a page or two, put in at place %i", (place) => {
    let listed = manySandboxes(1_000);
    for (let poll = 0; poll < 20; poll++) {
      const more = listed.toSpliced(place, 0, listedSandbox(`new-${poll}`, []));
      const { skipped, before, sighting } = readAfter(listed, more);
      expect(skipped).toBe(listed.length);
      expect(idsOf(sighting.snapshot)).toEqual(more.map(({ sandboxId }) => sandboxId));
      expect(pageDelta(before.pages, sighting.snapshot.pages).replaced.length).toBeLessThan(3);
      listed = more;
    }
  });
});

describe("a change in many pages", () => {
  it("takes one new page, in the place of one", () => {
    const all = manySandboxes(1_000);
    const before = bring(emptySnapshot, { sandboxes: all, complete: true }).snapshot;
    const changed = all.toSpliced(500, 1, listedSandbox("box-500", [listedServer("a", "error")]));
    const { snapshot } = bring(before, { sandboxes: changed, complete: true });
    const { replaced, removed } = pageDelta(before.pages, snapshot.pages);
    expect(replaced.map(({ before: old, after }) => old?.id === after.id)).toEqual([true]);
    expect(removed).toEqual([]);
  });
});

describe("a sandbox that comes twice", () => {
  const twins = [
    listedSandbox("box", [listedServer("a", "idle"), listedServer("b", "error")]),
    listedSandbox("box", [listedServer("a", "occupied"), listedServer("c", "idle")]),
  ];

  it("is joined: the worse is believed of what both hold, and said how many servers that and all were", () => {
    for (const listed of [twins, twins.toReversed()]) {
      const intake = openIntake(emptySnapshot, { goneAfter: 1 });
      expect(listed.map((sandbox) => intake.listed(sandbox, null))).toEqual([
        null,
        { servers: 1, together: 3 },
      ]);
      expect(intake.sandboxCount).toBe(1);
      const { snapshot } = atOnce(intake.finish(options));
      const statuses = Array.from(snapshot.servers(), ({ serverId, status }) => serverId + status);
      expect(statuses.toSorted()).toEqual(["aoccupied", "berror", "cidle"]);
    }
  });
});
