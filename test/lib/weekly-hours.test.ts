import { expect, it } from "vitest";
import { parseOpenRange, weeklyHours } from "../../src/lib/weekly-hours.ts";

const rangesOf = (texts: readonly string[]) => texts.flatMap((text) => parseOpenRange(text) ?? []);
const isOpen = (texts: readonly string[], zone: string, at: string) =>
  weeklyHours(rangesOf(texts), zone)(Date.parse(at));

it.each([
  // 2026-11-27 is a Friday.
  [["mon-fri 08:00-18:00"], "2026-11-27T07:59Z", false],
  [["mon-fri 08:00-18:00"], "2026-11-27T08:00Z", true],
  [["mon-fri 08:00-18:00"], "2026-11-27T17:59:59.999Z", true],
  [["mon-fri 08:00-18:00"], "2026-11-27T18:00Z", false],
  [["mon-fri 08:00-18:00"], "2026-11-28T12:00Z", false],
  [["mon-fri 08:00-18:00", "sat"], "2026-11-28T12:00Z", true],
  [["sat-mon"], "2026-11-29T12:00Z", true],
  [["sat-mon"], "2026-11-30T23:59Z", true],
  [["sat-mon"], "2026-12-01T00:00Z", false],
  [["fri 22:00-06:00"], "2026-11-28T05:59Z", true],
  [["fri 22:00-06:00"], "2026-11-28T06:00Z", false],
  [["fri 22:00-06:00"], "2026-11-27T05:00Z", false],
  [["sun 22:00-06:00"], "2026-11-30T05:59Z", true],
  [["fri 08:00-08:00"], "2026-11-28T07:59Z", true],
  [["fri 18:00-24:00"], "2026-11-27T23:59Z", true],
])("%o at %s: %s", (texts, at, expected) => {
  expect(rangesOf(texts)).toHaveLength(texts.length);
  expect(isOpen(texts, "UTC", at)).toBe(expected);
});

it.each([
  // Clocks are set forward on 29 March 2026 at 2:00, and back on 25 October at 3:00.
  ["2026-03-29T00:30Z", ["sun 01:00-02:00"], true],
  ["2026-03-29T01:30Z", ["sun 02:00-03:00"], false],
  ["2026-10-25T00:30Z", ["sun 02:00-03:00"], true],
  ["2026-10-25T01:30Z", ["sun 02:00-03:00"], true],
  ["2026-10-25T02:00Z", ["sun 02:00-03:00"], false],
])("at %s the clocks of Berlin decide on %o: %s", (at, texts, expected) => {
  expect(isOpen(texts, "Europe/Berlin", at)).toBe(expected);
});

it.each([
  "",
  "mon-",
  "Mon",
  "monday",
  "mon 8-18",
  "mon 08:00-25:00",
  "mon 24:00-25:00",
  "mon 08:60-18:00",
  "mon-fri, sat",
])("%o is no range", (text) => {
  expect(parseOpenRange(text)).toBeUndefined();
});
