import * as fc from "fast-check";
import { expect, it } from "vitest";
import xxhash from "xxhash-wasm";
import { TextRoom } from "../../../src/service/listing/text-room.ts";

const library = await xxhash();
const seed = 0xfedc_ba98_7654_3210n;

/** A room with a text in it, and where that is. */
function roomOf(text: Uint8Array, before = 0, behind = 0) {
  const room = new TextRoom(seed);
  room.open(
    Buffer.concat([Buffer.alloc(before, '"status":'), text, Buffer.alloc(behind, '"idle"')]),
  );
  return { room, start: before, end: before + text.length };
}

it("hashes as XXH64 does, wherever a text stands and however long it is", () => {
  const place = fc.oneof(fc.nat(40), fc.integer({ min: 65_400, max: 65_600 }));
  const bytes = fc.oneof(
    fc.uint8Array({ maxLength: 100 }),
    fc.uint8Array({ minLength: 1, maxLength: 40 }).map((part) => {
      return new Uint8Array(Buffer.alloc(part.length * 3_000, part));
    }),
  );
  fc.assert(
    fc.property(bytes, place, fc.nat(40), (text, before, behind) => {
      const { room, start, end } = roomOf(text, before, behind);
      expect(room.hash(start, end)).toBe(library.h64Raw(text, seed));
    }),
  );
});

it("hashes a form as XXH64 does, with how many statuses stand behind it, or which too", () => {
  const text = '{"status": "idle", "a": [{"status":"error","updated_at":"2026-02-16"}]}';
  const form = '{"status": "0000", "a": [{"status":"0001","updated_at":"0000000000"}]}';
  const { room, start, end } = roomOf(Buffer.from(text), 3, 3);
  expect(room.makeForm(start, end)).toBe(true);
  expect(room.form.toString()).toBe(form);
  expect(room.formStatuses).toEqual(["idle", "error"]);
  const statuses = "\u0000\u0002";
  expect(room.hashForm("statuses")).toBe(
    library.h64Raw(Buffer.from(`${form}${statuses}0002`), seed),
  );
  expect(room.hashForm("count")).toBe(library.h64Raw(Buffer.from(`${form}0002`), seed));
});

it.each([
  ['{"id":"a"}', "nothing in it is a status or a time"],
  ['{"status":"0001"}', "a status reads like a number"],
  ['{"status":"idle","status":"\\u0069dle"}', "a status is written with escapes"],
  ['{"status":"idle","updated_at":"2026\\n"}', "a time is written with escapes"],
  ['{"status":"idle","updated_at":"2026é"}', "a time is no ASCII"],
  ['{"status":"idle","updated_at":"2026', "a time does not end"],
])("makes no form of %s: %s", (text) => {
  const { room, start, end } = roomOf(Buffer.from(text), 20, 20);
  expect(room.makeForm(start, end)).toBe(false);
});

it.each([
  ['{"status":"idle"', '{"status":"0000"'],
  ['{"my\\"status":"idle","status":"error"}', '{"my\\"status":"idle","status":"0000"}'],
  ['"status":"idle","status":"error"', '"status":"idle","status":"0000"'],
  ['{"status":"resting","updated_at":"1"}', '{"status":"resting","updated_at":"0"}'],
  ['{"status"\n:\t"occupied"}', '{"status"\n:\t"0000"}'],
  ['{"status":"idle","updated_at":""}', '{"status":"0000","updated_at":""}'],
])("makes of %s the form %s", (text, form) => {
  const { room, start, end } = roomOf(Buffer.from(text), 20, 20);
  expect(room.makeForm(start, end)).toBe(true);
  expect(room.form.toString()).toBe(form);
});

it("numbers the statuses of a form, each with as many digits", () => {
  const form = (status: (at: number) => string): string =>
    `{${Array.from({ length: 1_100 }, (_, at) => `"status":"${status(at)}"`).join()}}`;
  const { room, start, end } = roomOf(Buffer.from(form(() => "idle")), 20, 20);
  expect(room.makeForm(start, end)).toBe(true);
  expect(room.form.toString()).toBe(form((at) => String(at).padStart(4, "0")));
});

it("makes no form of more statuses than have numbers of four digits", () => {
  const of = (count: number) => Buffer.from(`{${'"status":"idle",'.repeat(count)}}`);
  const most = roomOf(of(10_000));
  expect(most.room.makeForm(most.start, most.end)).toBe(true);
  expect(most.room.formStatuses).toHaveLength(10_000);
  expect(most.room.hashForm("statuses")).not.toBe(most.room.hashForm("count"));
  const more = roomOf(of(10_001));
  expect(more.room.makeForm(more.start, more.end)).toBe(false);
});

it("gives back what a long text needed", () => {
  const { room, start, end } = roomOf(Buffer.alloc(8 * 1024 * 1024, "x"));
  room.hash(start, end);
  expect(room.form.buffer.byteLength).toBeGreaterThan(end);
  room.close();
  expect(room.form.buffer.byteLength).toBeLessThan(1024 * 1024);
  const text = Buffer.from("{}");
  room.open(text);
  expect(room.hash(0, 2)).toBe(library.h64Raw(text, seed));
});

it("has room for a form and what stands behind it, however much of the memory a text takes", () => {
  const room = new TextRoom(seed);
  const statuses = '"status":"idle",'.repeat(10);
  for (let length = 15_000; length < 66_000; length += 7) {
    room.open(Buffer.from(statuses.padEnd(length)));
    expect(room.makeForm(0, length)).toBe(true);
    room.hashForm("statuses");
  }
});
