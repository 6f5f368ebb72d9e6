import * as fc from "fast-check";
import { expect, it } from "vitest";
import { PageWords, PatchLog } from "../../../src/core/snapshot/page-words.ts";

const length = 12;
const word = fc.nat(0xffff_ffff);

interface Version {
  readonly words: PageWords;
  readonly expected: readonly number[];
}

/** Of one of the versions so far, by its number, something is made or done. */
const deeds = fc.array(
  fc.oneof(
    fc.record({
      kind: fc.constant("patch" as const),
      version: fc.nat(20),
      entries: fc.uniqueArray(fc.tuple(fc.nat(length - 1), word), {
        minLength: 1,
        maxLength: 5,
        selector: ([place]) => place,
      }),
    }),
    fc.record({
      kind: fc.constant("copy" as const),
      version: fc.nat(20),
      place: fc.nat(length - 1),
      value: word,
    }),
    fc.record({ kind: fc.constantFrom("settle" as const, "move" as const), version: fc.nat(20) }),
  ),
  { maxLength: 30 },
);

function nextVersion(
  { words, expected }: Version,
  log: PatchLog,
  entries: readonly (readonly [number, number])[],
): Version {
  const begin = log.length;
  const after = [...expected];
  for (const [place, value] of entries.toSorted(([one], [other]) => one - other)) {
    log.add(place, value);
    after[place] = value;
  }
  return { words: words.patched({ log, begin, end: log.length }), expected: after };
}

function copyOf({ words, expected }: Version, place: number, value: number): Version {
  const copy = words.copied();
  copy.set(place, value);
  return { words: copy, expected: expected.with(place, value) };
}

it("whichever version has the room, and wherever that is, each one reads what it always did", () => {
  fc.assert(
    fc.property(deeds, (all) => {
      const log = new PatchLog();
      const first = Array.from({ length }, (_, place) => place);
      const versions: Version[] = [
        { words: PageWords.in(Uint32Array.from(first)), expected: first },
      ];
      for (const deed of all) {
        const version = versions[deed.version % versions.length];
        if (!version) continue;
        if (deed.kind === "patch") versions.push(nextVersion(version, log, deed.entries));
        else if (deed.kind === "copy") versions.push(copyOf(version, deed.place, deed.value));
        else if (deed.kind === "settle") version.words.settle();
        else version.words.moveTo(new Uint32Array(length));
        for (const { words, expected } of versions) {
          expect(first.map((place) => words.at(place))).toEqual(expected);
          expect([...words.first(length - 2)]).toEqual(expected.slice(0, -2));
        }
      }
      expect(new Set(versions.map(({ words }) => words.room)).size).toBe(1);
    }),
  );
});

it("a version is made of the one before it with a patch, until it has the room itself", () => {
  const log = new PatchLog();
  const before = PageWords.in(new Uint32Array(length));
  const patch = { log, begin: 0, end: 0 };
  const after = before.patched(patch);
  expect(after.patchOver(before)).toBe(patch);
  expect(after.own).toBeNull();
  after.settle();
  expect(after.patchOver(before)).toBeNull();
  expect(after.own).toHaveLength(length);
  expect(before.own).toBeNull();
});

it("a word that a patch has no entry for is not set", () => {
  const log = new PatchLog();
  const { words } = nextVersion(
    { words: PageWords.in(new Uint32Array(length)), expected: [] },
    log,
    [[3, 7]],
  );
  words.set(3, 8);
  expect(words.at(3)).toBe(8);
  expect(() => words.set(4, 8)).toThrow(RangeError);
});

it("a version that is copied gives its room to the copy, and gets it back when that is given up", () => {
  const room = Uint32Array.of(1, 2, 3);
  const before = PageWords.in(room);
  const after = before.copied();
  after.set(1, 7);
  expect(after.own).toBe(room);
  before.settle();
  expect(before.own).toBe(room);
  expect([...room]).toEqual([1, 2, 3]);
  expect([...after.first(3)]).toEqual([1, 7, 3]);
});

it("a version that was given up is not read any more, unless it has the room", () => {
  const before = PageWords.in(Uint32Array.of(1, 2, 3));
  before.giveUp();
  expect(before.at(1)).toBe(2);
  const after = before.copied();
  const spare = before.first(3);
  before.giveUp();
  expect(spare.buffer.detached).toBe(true);
  expect(() => before.at(1)).toThrow("hold its snapshot");
  expect(() => before.first(3)).toThrow("hold its snapshot");
  expect(() => before.settle()).toThrow("hold its snapshot");
  expect(after.at(1)).toBe(2);
});
