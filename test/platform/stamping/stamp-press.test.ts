import * as fc from "fast-check";
import { expect, it } from "vitest";
import { packUuid } from "../../../src/core/snapshot/packed-id.ts";
import { PressPool } from "../../../src/platform/stamping/press-pool.ts";
import {
  mostLines,
  none,
  ownerMark,
  ownMark,
  shortMark,
  StampPress,
} from "../../../src/platform/stamping/stamp-press.ts";
import type { PressSizes } from "../../../src/platform/stamping/stamp-press.ts";

const sizes: PressSizes = { pieceBytes: 4_096, letterBytes: 65_536 };
const longest = 4_096;

/** A line as it is to be stamped: its text with marks, what follows, and its ids. */
interface Line {
  readonly text: string;
  readonly tail: string;
  readonly own: string;
  readonly owner: string;
}

function plainly({ text, tail, own, owner }: Line): string {
  const line = text.replaceAll(ownMark, own).replaceAll(ownerMark, owner);
  return line.replaceAll(shortMark, own.slice(0, 8)) + tail;
}

/** Adds the lines, of records that have so many words. The lines of one owner follow each other. */
function add(press: StampPress, lines: readonly Line[], recordWords: number): void {
  const records = new Uint32Array(lines.length * recordWords).fill(0xffff_ffff);
  const owner = new Uint32Array(4);
  press.begin(recordWords);
  for (const [index, line] of lines.entries()) {
    packUuid(line.own, records, index * recordWords);
    packUuid(line.owner, owner, 0);
    if (line.owner !== lines[index - 1]?.owner) {
      const next = lines.findIndex((other, at) => at > index && other.owner !== line.owner);
      press.addOwner(next < 0 ? mostLines : next - index, owner, 0);
    }
    press.addLine(press.layOut(line.text), line.tail === "" ? none : press.keepTail(line.tail));
  }
  press.setRecords(records);
}

/** The same with each line's owner in its record, from a word on. */
function addOwned(press: StampPress, lines: readonly Line[], ownerAt: number): void {
  const recordWords = ownerAt + 4;
  const records = new Uint32Array(lines.length * recordWords).fill(0xffff_ffff);
  press.begin(recordWords, ownerAt);
  for (const [index, line] of lines.entries()) {
    packUuid(line.own, records, index * recordWords);
    packUuid(line.owner, records, index * recordWords + ownerAt);
    press.addLine(press.layOut(line.text), line.tail === "" ? none : press.keepTail(line.tail));
  }
  press.setRecords(records);
}

function taken(press: StampPress): string {
  return Buffer.from(press.take()).toString();
}

const parts = fc.constantFrom(ownMark, ownerMark, shortMark, "é", "沙箱", '"},', "0");
const texts = fc.array(fc.oneof(parts, fc.string({ maxLength: 40 })), { maxLength: 12 });
const groups = fc.array(
  fc.tuple(
    fc.uuid(),
    fc.array(
      fc.record({
        text: texts.map((each) => each.join("")).filter((each) => each !== ""),
        tail: fc.string({ maxLength: 50 }),
        own: fc.uuid(),
      }),
      { minLength: 1, maxLength: 4 },
    ),
  ),
  { maxLength: 8 },
);

it("stamps each line with its own id and its owner's, and puts its tail behind it", () => {
  fc.assert(
    fc.property(
      groups,
      fc.integer({ min: 4, max: 8 }),
      fc.nat(60),
      (owned, recordWords, before) => {
        const press = new StampPress({ pieceBytes: 2 ** 18, letterBytes: 2 ** 18 });
        const lines = owned.flatMap(([owner, each]) => each.map((line) => ({ ...line, owner })));
        press.putText("x".repeat(before));
        add(press, lines, recordWords);
        expect(press.stampUntilFull()).toBe(lines.length);
        expect(taken(press)).toBe("x".repeat(before) + lines.map(plainly).join(""));
      },
    ),
  );
});

it("takes the owner's id out of each line's record where it is told to", () => {
  fc.assert(
    fc.property(groups, fc.integer({ min: 4, max: 8 }), (owned, ownerAt) => {
      const press = new StampPress({ pieceBytes: 2 ** 18, letterBytes: 2 ** 18 });
      const lines = owned.flatMap(([owner, each]) => each.map((line) => ({ ...line, owner })));
      addOwned(press, lines, ownerAt);
      expect(press.stampUntilFull()).toBe(lines.length);
      // Owners are asked for again by those that come next, unless they say the same.
      add(press, lines, 4);
      expect(press.stampUntilFull()).toBe(lines.length);
      expect(taken(press)).toBe(lines.map(plainly).join("").repeat(2));
    }),
  );
});

const ids = {
  own: "01234567-89ab-4def-8123-456789abcdef",
  owner: "00112233-4455-4677-8899-aabbccddeeff",
};
const line: Line = { text: `${ownMark} of ${ownerMark}:${"y".repeat(100)}`, tail: "\n", ...ids };

it("stops behind the line that makes it full, and tells how many were written", () => {
  const press = new StampPress(sizes);
  const all = Array.from({ length: mostLines }, () => line);
  const length = plainly(line).length;
  add(press, all, 4);
  expect(press.isFull).toBe(false);
  const done = press.stampUntilFull();
  expect(done).toBe(Math.ceil(sizes.pieceBytes / length));
  expect(press.isFull).toBe(true);
  expect(taken(press)).toBe(plainly(line).repeat(done));
  expect(press.isFull).toBe(false);
});

it("stamps all, however full it gets, when that is wanted", () => {
  const press = new StampPress(sizes);
  const all = Array.from({ length: mostLines }, () => line);
  for (let turn = 0; turn < 3; turn++) {
    add(press, all, 4);
    press.stampAll();
    press.clear();
  }
  expect(taken(press)).toBe(plainly(line).repeat(mostLines * 3));
});

it("keeps neither a stamp nor a tail that is too long, and the longest ones whole", () => {
  const press = new StampPress(sizes);
  expect(press.layOut("x".repeat(longest + 1))).toBe(none);
  expect(press.keepTail("é".repeat(513))).toBe(none);
  const long = { ...ids, text: ownMark + "x".repeat(longest - 36), tail: "é".repeat(512) };
  add(press, [long, long], 4);
  press.stampAll();
  expect(taken(press)).toBe(plainly(long).repeat(2));
});

it("has room for the longest line behind whatever nearly fills it", () => {
  const long = { ...ids, text: ownMark + "x".repeat(longest - 36), tail: "y".repeat(1_024) };
  for (let kiB = 1; kiB <= 128; kiB++) {
    const press = new StampPress({ ...sizes, pieceBytes: kiB * 1_024 });
    press.putText("x".repeat(kiB * 1_024 - 1));
    add(press, [long], 4);
    expect(press.stampUntilFull()).toBe(1);
  }
});

it("says that it is crowded before it keeps nothing more, and forgets all when it is cleared", () => {
  const press = new StampPress(sizes);
  const stamp = "x".repeat(longest);
  let kept = 0;
  while (!press.isCrowded) {
    expect(press.layOut(stamp)).not.toBe(none);
    kept++;
  }
  while (press.layOut(stamp) !== none) kept++;
  expect(press.isCrowded).toBe(true);
  press.clear();
  expect(press.isCrowded).toBe(false);
  for (let again = 0; again < kept; again++) expect(press.layOut(stamp)).not.toBe(none);
});

it("writes a part of a stamp anew", () => {
  const press = new StampPress(sizes);
  const stamp = press.layOut(`{"time":0000,"id":"${ownMark}"}`);
  for (const time of ["1795", "2026"]) {
    press.rewrite(stamp, 8, Buffer.from(time));
    press.begin(4);
    press.addOwner(1, new Uint32Array(4), 0);
    press.addLine(stamp, none);
    press.setRecords(Uint32Array.of(0x01234567, 0x89ab4def, 0x81234567, 0x89abcdef));
    press.stampAll();
  }
  expect(taken(press)).toBe(`{"time":1795,"id":"${ids.own}"}{"time":2026,"id":"${ids.own}"}`);
});

it("puts texts that are longer than a piece, with what was kept before", () => {
  const press = new StampPress(sizes);
  add(press, [line], 5);
  const long = "沙".repeat(100_000);
  press.putText(long);
  press.stampAll();
  expect(taken(press)).toBe(long + plainly(line));
});

it("is used again from a pool, unless it was not given back or a long text made it grow", () => {
  const pool = new PressPool(sizes);
  const first = pool.take();
  expect(pool.take()).not.toBe(first);
  pool.giveBack(first);
  expect(pool.take()).toBe(first);
  first.putText("x".repeat(2 ** 20));
  pool.giveBack(first);
  expect(pool.take()).not.toBe(first);
});
