import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { statuses as allStatuses } from "../../../src/core/model.ts";
import { markWords, readMark, writeMark } from "../../../src/core/text-mark.ts";
import type { TextMark } from "../../../src/core/text-mark.ts";
import { TextRoom } from "../../../src/service/listing/text-room.ts";

const seed = 0x0123_4567_89ab_cdefn;

/** Read alone, and with nothing behind it. */
function markOf(text: string, openStatuses: TextMark["openStatuses"] = "own_first"): TextMark {
  const room = new TextRoom(seed);
  const bytes = Buffer.from(text);
  room.open(bytes);
  const hash = room.hash(0, bytes.length);
  const isSteady = room.makeForm(0, bytes.length);
  return {
    length: bytes.length,
    hash,
    steadyHash: isSteady ? room.hashForm(openStatuses === "none" ? "statuses" : "count") : 0n,
    steadyLength: isSteady ? room.formLength : 0,
    openStatuses,
    note: 7,
  };
}

interface Looking {
  readonly withForms?: boolean;
  readonly isLast?: boolean;
  readonly before?: string;
  readonly behind?: string;
}

/** What is found where some texts are expected, and `list` stands. */
function look(expected: readonly TextMark[], list: string, looking: Looking = {}) {
  const {
    withForms = true,
    isLast = false,
    before = "[",
    behind = `],"total_count":12345${" ".repeat(100)}}`,
  } = looking;
  const room = new TextRoom(seed);
  room.open(Buffer.from(before + list + behind));
  for (const [at, mark] of expected.entries()) writeMark(room.marks, at * markWords, mark);
  const start = Buffer.byteLength(before);
  const count = room.countKnown(start, expected.length, { withForms, isLast });
  const { lacking, others } = room;
  const given = [...room.given.subarray(0, count)];
  const told = given.reduce((sum, more) => sum + Math.max(0, more - 1), 0);
  return {
    count,
    lacking,
    others,
    given,
    length: count > 0 ? room.knownEnd - start : 0,
    marks: given.map((_, at) => readMark(room.marks, at * markWords)),
    statuses: Array.from(room.statuses.subarray(0, told), (code) => allStatuses[code]),
  };
}

const sandboxText = (id: string, own: string, server: string, time = "2026-02-16"): string =>
  `{"id":"${id}","status":"${own}","servers":[{"status":"${server}","updated_at":"${time}"}]}`;

describe("texts that are expected", () => {
  const [one, two, three] = ["1", "2", "3"].map((id) => sandboxText(id, "idle", "idle"));
  const marks = [one, two, three].map((text = "") => markOf(text));

  it("are known in other statuses, whatever the length of these, and bear their own marks then", () => {
    // Of the third one a brace ends a server where the text before ended.
    const texts = [
      sandboxText("1", "occupied", "error"),
      sandboxText("2", "idle", "idle"),
      sandboxText("3", "error", "error", "2027-03-17"),
    ];
    const found = look(marks, texts.join(" ,\n"));
    expect(found).toMatchObject({ count: 3, others: 2, given: [3, 0, 3] });
    expect(found.length).toBe(texts.join(" ,\n").length);
    expect(found.statuses).toEqual(["occupied", "error", "error", "error"]);
    expect(found.marks).toEqual(texts.map((text) => markOf(text)));
    const back = look(
      texts.map((text) => markOf(text)),
      [one, two, three].join(),
    );
    expect(back).toMatchObject({ count: 3, others: 2 });
    expect(back.marks).toEqual(marks);
  });

  it("are known only as they were where forms are not looked at", () => {
    const texts = [one, sandboxText("2", "error", "idle")].join();
    expect(look(marks, texts, { withForms: false })).toMatchObject({ count: 1, given: [0] });
  });

  it("are known in other times alone where statuses are not left open", () => {
    const closed = [markOf(one ?? "", "none")];
    expect(look(closed, sandboxText("1", "idle", "idle", "1999-09-09"))).toMatchObject({
      count: 1,
      given: [3],
    });
    expect(look(closed, sandboxText("1", "idle", "error"))).toMatchObject({ count: 0, lacking: 0 });
  });

  it.each([
    ["another id", sandboxText("9", "error", "idle")],
    ["a time of another length", sandboxText("1", "error", "idle", "2026")],
    ["a status that is none", sandboxText("1", "resting", "idle")],
    ["a status that reads like a number", sandboxText("1", "0000", "idle")],
    ["one status more", sandboxText("1", "idle", 'idle","status":"idle')],
    ["one status less", sandboxText("1", "idle", "idle").replace('"status":"idle",', "")],
    ["something behind its end", `${sandboxText("1", "error", "idle").slice(0, -1)},"a":1}`],
    ["an end that is too soon", `${sandboxText("1", "error", "idle").slice(0, -2)}}`],
    ["no end", `"${one ?? ""}`],
  ])("are not known in a text with %s", (_, text) => {
    expect(look(marks, text)).toMatchObject({ count: 0, lacking: 0 });
  });

  it("are known or others as soon as so many bytes are there as are wanted, wherever they break off", () => {
    const ending = (status: string): string => `{"id":"1","status":"${status}"}`;
    const cases = [
      [one, one],
      [one, sandboxText("1", "occupied", "occupied")],
      [one, sandboxText("9", "occupied", "occupied")],
      [ending("idle"), ending("occupied")],
      [ending("occupied"), ending("idle")],
    ];
    for (const [before = "", list = ""] of cases) {
      const mark = markOf(before);
      const whole = look([mark], list);
      for (let length = 0; length <= list.length; length++) {
        const part = look([mark], list.slice(0, length), { behind: "" });
        const isTold = part.lacking === 0;
        expect(isTold ? part : whole).toEqual(whole);
        expect(isTold || part.lacking > length).toBe(true);
      }
    }
  });

  it("are known or not at the end of a body, though they may be shorter than they were", () => {
    const ending = (id: number, status: string): string => `{"id":"${id}","status":"${status}"}`;
    const expected = [markOf(ending(1, "occupied"))];
    const atEnd = (list: string, withForms = true) =>
      look(expected, list, { behind: "", isLast: true, withForms });
    expect(atEnd(ending(1, "idle"))).toMatchObject({ count: 1, lacking: 0, given: [2] });
    expect(atEnd(ending(1, "idle"), false)).toMatchObject({ count: 0, lacking: 0 });
    expect(atEnd(ending(2, "idle"))).toMatchObject({ count: 0, lacking: 0 });
    expect(atEnd(ending(1, "idle").slice(0, -1))).toMatchObject({ count: 0, lacking: 0 });
  });

  it("are known wherever what is copied at once ends", () => {
    const texts = [sandboxText("1", "occupied", "occupied"), sandboxText("2", "error", "error")];
    const expected = marks.slice(0, 2);
    for (let gap = 65_300; gap < 65_540; gap++) {
      const room = new TextRoom(seed);
      const list = texts.join(`,${" ".repeat(gap)}`);
      room.open(Buffer.from(list + " ".repeat(100)));
      let known = 0;
      for (let at = 0; known < 2; at = list.indexOf("{", room.knownEnd)) {
        for (const [place, mark] of expected.slice(known).entries()) {
          writeMark(room.marks, place * markWords, mark);
        }
        const count = room.countKnown(at, 2 - known, { withForms: true, isLast: false });
        expect(count).toBeGreaterThan(0);
        known += count;
      }
    }
  });

  it("are known in other statuses however many have grown, but of too many more letters", () => {
    const of = (count: number, status: string): string =>
      `{"id":1,${`"status":"${status}",`.repeat(count)}"end":true}`;
    const grown = look([markOf(of(4_000, "idle"))], of(4_000, "occupied"));
    expect(grown).toMatchObject({ count: 1, given: [4_001] });
    expect(new Set(grown.statuses)).toEqual(new Set(["occupied"]));
    const [own] = grown.marks;
    const back = look(own ? [own] : [], of(4_000, "error"), { isLast: true });
    expect(back).toMatchObject({ count: 1, given: [4_001] });
    // By four letters each, no more than are counted.
    expect(look([markOf(of(4_095, "idle"))], of(4_095, "occupied"))).toMatchObject({ count: 1 });
    expect(look([markOf(of(4_096, "idle"))], of(4_096, "occupied"))).toMatchObject({
      count: 0,
      lacking: 0,
    });
    expect(look([markOf(of(4_096, "occupied"))], of(4_096, "idle"))).toMatchObject({ count: 0 });
  });

  it("are known no further than there is room for their statuses", () => {
    const of = (id: number, status: string): string =>
      `{"id":${id},${`"status":"${status}",`.repeat(4_000)}"end":true}`;
    const ids = Array.from({ length: 6 }, (_, id) => id);
    const expected = ids.map((id) => markOf(of(id, "idle")));
    const found = look(expected, ids.map((id) => of(id, "error")).join());
    expect(found).toMatchObject({ count: 1 });
    const room = new TextRoom(seed);
    const text = Buffer.from(`[${ids.map((id) => of(id, "error")).join()}]${" ".repeat(99)}`);
    room.open(text);
    // All of it is copied, as the long one needs it.
    room.hash(1, text.length);
    for (const [at, mark] of expected.entries()) writeMark(room.marks, at * markWords, mark);
    expect(room.countKnown(1, 6, { withForms: true, isLast: false })).toBe(3);
    expect(new Set(room.statuses.subarray(0, 12_000))).toEqual(new Set([2]));
  });
});

const values = fc.constantFrom("idle", "occupied", "error", "resting", "0001", "", "\\n");
const piece = fc.oneof(
  values.map((value) => `"status":"${value}"`),
  fc.constantFrom("2026", "2027", "20260216").map((time) => `"updated_at" : "${time}"`),
  fc.constantFrom('"a":{"b":[]}', '"x\\"status":"idle"', '"status":null', '"é":1', '"}":"}"'),
);
const text = fc.array(piece, { minLength: 1, maxLength: 6 }).map((all) => `{${all.join()}}`);
/** Another one that differs in few values, or none. */
const pair = fc
  .tuple(text, fc.array(values, { minLength: 1, maxLength: 6 }), fc.boolean())
  .map(([first, others, isOther]) => {
    let next = 0;
    const second = first.replaceAll(
      /("status":")(idle|occupied|error)/g,
      (_, name: string) => name + (others[next++ % others.length] ?? ""),
    );
    return [first, isOther ? second : first.replaceAll("2026", "1999")] as const;
  });

const open = fc.constantFrom("none" as const, "own_last" as const);

it("whatever a text is, it is known by the mark of another one if they are the same, or have one form", () => {
  fc.assert(
    fc.property(
      fc.array(fc.tuple(pair, open, fc.boolean()), { minLength: 1, maxLength: 8 }),
      (cases) => {
        const expected = cases.map(([[first], left, isHashed]) => {
          const mark = markOf(first, left);
          return isHashed || mark.steadyHash === 0n ? mark : { ...mark, hash: 0n };
        });
        const came = cases.map(([[, second], left]) => markOf(second, left));
        const isItself = came.map(({ hash }, at) => hash === expected[at]?.hash);
        const isKnown = came.map(
          ({ steadyHash }, at) =>
            isItself[at] || (steadyHash !== 0n && steadyHash === expected[at]?.steadyHash),
        );
        const count = [...isKnown, false].indexOf(false);
        const found = look(expected, cases.map(([[, second]]) => second).join());
        expect(found).toMatchObject({ count, lacking: 0 });
        const others = [...isItself, true].indexOf(true);
        expect(found.marks).toEqual(
          came.slice(0, count).map((mark, at) => {
            // Where all before it were others, one of another length is not hashed.
            const mayStay = at === 0 || at > others || mark.length === expected[at]?.length;
            return mayStay || isItself[at] ? mark : { ...mark, hash: 0n };
          }),
        );
      },
    ),
    { numRuns: 500 },
  );
});
