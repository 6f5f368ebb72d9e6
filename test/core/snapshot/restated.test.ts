import * as fc from "fast-check";
import { expect, it } from "vitest";
import { atOnce } from "../../../src/core/in-steps.ts";
import type { ListingIntake } from "../../../src/core/listing-intake.ts";
import type { ListedSandbox, Status } from "../../../src/core/model.ts";
import { openIntake } from "../../../src/core/snapshot/intake.ts";
import { markOf } from "../../../src/core/snapshot/marks.ts";
import { createPackedSnapshot, emptySnapshot } from "../../../src/core/snapshot/packed-snapshot.ts";
import type { PackedSnapshot } from "../../../src/core/snapshot/packed-snapshot.ts";
import { PageRoom } from "../../../src/core/snapshot/page-room.ts";
import { createTallies } from "../../../src/core/snapshot/tallies.ts";
import type { TextMark } from "../../../src/core/text-mark.ts";
import { nextTexts, theSame } from "../../support/came-texts.ts";
import { listedSandbox, listedServer } from "../support/samples.ts";

/** Some pages full. */
const sandboxCount = 220;
const turns = ["idle", "occupied", "error"] as const;

interface Sandbox {
  readonly name: string;
  /** Counts the statuses that it had. */
  readonly turn: number;
  /** Counts its texts. */
  readonly version: number;
}

function listedOf({ name, turn }: Sandbox, at: number): ListedSandbox {
  const status = (more: number): Status => turns[(turn + more) % turns.length] ?? "idle";
  const servers = Array.from({ length: (at % 3) + 1 }, (_, server) =>
    listedServer(`v${server}`, status(server), { serverName: name }),
  );
  return { ...listedSandbox(`box-${at}`, servers), status: status(0) };
}

function markFor({ name, version }: Sandbox, at: number): TextMark {
  const steadyHash = BigInt(at) * 256n + BigInt(name.length);
  const hash = BigInt(version) * 65_536n + BigInt(at);
  return { length: 100, hash, steadyHash, steadyLength: 96, openStatuses: "own_last", note: 0 };
}

/** Reads only what has another name. */
function read(intake: ListingIntake, sandboxes: ReadonlyMap<number, Sandbox>): void {
  for (const [at, sandbox] of sandboxes) {
    const mark = markFor(sandbox, at);
    const listed = listedOf(sandbox, at);
    const next = nextTexts(intake, 1);
    const [expected] = next.marks;
    const statuses = [...listed.servers.map(({ status }) => status), listed.status];
    if (expected?.hash === mark.hash) next.take([theSame]);
    else if (expected?.steadyHash !== mark.steadyHash) intake.listed(listed, mark);
    else next.take([{ other: mark, statuses }]);
  }
}

function statusesOf(snapshot: PackedSnapshot) {
  return [
    Array.from(snapshot.sandboxes(), ({ sandboxId, status }) => [sandboxId, status]),
    Array.from(snapshot.servers(), ({ serverName, status }) => [serverName, status]),
  ];
}

function listedStatuses(sandboxes: ReadonlyMap<number, Sandbox>) {
  const listed = Array.from(sandboxes, ([at, sandbox]) => listedOf(sandbox, at));
  return [
    listed.map(({ sandboxId, status }) => [sandboxId, status]),
    listed.flatMap(({ servers }) => servers.map(({ serverName, status }) => [serverName, status])),
  ];
}

const edit = fc.record({
  kind: fc.constantFrom("restate", "restate", "retime", "rename", "remove"),
  from: fc.nat(sandboxCount),
  count: fc.oneof(fc.nat(4), fc.nat(sandboxCount)),
  every: fc.integer({ min: 1, max: 5 }),
});
const polls = fc.array(
  fc.record({
    edited: fc.array(edit, { maxLength: 3 }),
    /** For so many polls somebody reads the snapshot that was before. */
    readFor: fc.nat(3),
  }),
  { minLength: 2, maxLength: 6 },
);

it("with other statuses in however many sandboxes, pages hold what was listed, and its marks", () => {
  const first = { name: "a", turn: 0, version: 0 };
  fc.assert(
    fc.property(polls, (played) => {
      const sandboxes = new Map(Array.from({ length: sandboxCount }, (_, at) => [at, first]));
      const readers: { until: number; snapshot: PackedSnapshot; hold: Disposable }[] = [];
      const expectations = new Map<PackedSnapshot, ReturnType<typeof statusesOf>>();
      let snapshot = emptySnapshot;
      for (const [poll, { edited, readFor }] of [{ edited: [], readFor: 0 }, ...played].entries()) {
        for (const { kind, from, count, every } of edited) {
          for (let at = from; at < from + count; at += every) {
            const { name, turn, version } = sandboxes.get(at) ?? first;
            const next = { name, turn, version: version + 1 };
            if (!sandboxes.has(at)) continue;
            if (kind === "remove") sandboxes.delete(at);
            else if (kind === "rename") sandboxes.set(at, { ...next, name: `${name}a` });
            else sandboxes.set(at, kind === "restate" ? { ...next, turn: turn + 1 } : next);
          }
        }
        const before = statusesOf(snapshot);
        expectations.set(snapshot, before);
        if (readFor > 0) readers.push({ until: poll + readFor, snapshot, hold: snapshot.hold() });
        // Of a listing that is not taken, whether whole or in part, nothing is left.
        const some = [...sandboxes].slice(0, (poll * 97) % (sandboxCount + 1));
        read(openIntake(snapshot, { goneAfter: 1 }), new Map(some));
        expect(statusesOf(snapshot)).toEqual(before);
        const intake = openIntake(snapshot, { goneAfter: 1 });
        read(intake, sandboxes);
        const atMs = poll * 1_000;
        const options = { complete: true, atMs, observedMs: atMs, witnessed: true };
        const sighting = atOnce(intake.finish(options));
        expect(statusesOf(snapshot)).toEqual(before);
        if (sighting.snapshot !== snapshot) atOnce(snapshot.giveUp());
        ({ snapshot } = sighting);
        expect(statusesOf(snapshot)).toEqual(listedStatuses(sandboxes));
        for (const reader of readers) {
          if (reader.until < poll) continue;
          expect(statusesOf(reader.snapshot)).toEqual(expectations.get(reader.snapshot));
          if (reader.until === poll) reader.hold[Symbol.dispose]();
        }
        const marks = snapshot.pages.flatMap((page) =>
          Array.from({ length: page.sandboxCount }, (_, at) => markOf(page, at)),
        );
        expect(marks).toEqual(Array.from(sandboxes, ([at, sandbox]) => markFor(sandbox, at)));
      }
    }),
    { numRuns: 30 },
  );
});

it("with other statuses everywhere, and in each page a sandbox of another name, takes little more room than its pages", () => {
  const room = new PageRoom({ block: 1_000_000, few: 0, many: 100_000 });
  const listed = Array.from({ length: 1_000 }, (_, at) => at);
  const poll = (before: PackedSnapshot, next: (at: number) => Sandbox) => {
    const intake = openIntake(before, { goneAfter: 1 });
    read(intake, new Map(listed.map((at) => [at, next(at)])));
    const options = { complete: true, atMs: 0, observedMs: 0, witnessed: true };
    return atOnce(intake.finish(options)).snapshot;
  };
  const empty = createPackedSnapshot({
    pages: [],
    tally: createTallies(),
    nextPageId: 1,
    room,
    index: { table: null },
    body: null,
  });
  const first = poll(empty, () => ({ name: "a", turn: 0, version: 0 }));
  const begin = room.take(1).byteOffset;
  poll(first, (at) => ({ name: at % 50 === 49 ? "aa" : "a", turn: 1, version: 1 }));
  const taken = (room.take(1).byteOffset - begin) / 4;
  const [page] = first.pages;
  expect(taken).toBeLessThan(first.wordCount + (page?.held.length ?? 0) * 2);
});

it("a snapshot that is held reads what it did though it was given up, and one that is not says so", () => {
  const all = Array.from({ length: sandboxCount }, (_, at) => at);
  const poll = (before: PackedSnapshot, turn: number) => {
    const intake = openIntake(before, { goneAfter: 1 });
    read(intake, new Map(all.map((at) => [at, { name: "a", turn, version: turn }])));
    const options = { complete: true, atMs: turn, observedMs: turn, witnessed: true };
    return atOnce(intake.finish(options)).snapshot;
  };
  const [first, second] = [poll(emptySnapshot, 0), poll(emptySnapshot, 0)];
  const expected = statusesOf(first);
  const hold = first.hold();
  poll(first, 1);
  poll(second, 1);
  atOnce(first.giveUp());
  atOnce(second.giveUp());
  expect(statusesOf(first)).toEqual(expected);
  expect(() => statusesOf(second)).toThrow("hold its snapshot");
  hold[Symbol.dispose]();
  atOnce(first.giveUp());
  expect(() => statusesOf(first)).toThrow("hold its snapshot");
});
