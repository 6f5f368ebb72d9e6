import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { parseCronTimes } from "../../src/lib/cron-times.ts";
import type { CronTimes } from "../../src/lib/cron-times.ts";
import { momentsOf, transitionsOf } from "./support/cron-model.ts";

const hourMs = 3_600_000;

/** What comes every second is compared for a while only. */
const mostCompared = 200;

/** Besides zones like any other: half an hour, two hours, at midnight, in Ramadan, offsets of minutes. */
const zones =
  `America/New_York Europe/Berlin Europe/Dublin Australia/Lord_Howe Antarctica/Troll Africa/Cairo
  Africa/Casablanca America/Havana Asia/Beirut America/Santiago America/St_Johns Pacific/Chatham
  Asia/Gaza America/Nuuk`.split(/\s+/);

const transitions = zones.flatMap((zone) =>
  transitionsOf(zone, Date.UTC(2026, 0, 1), Date.UTC(2027, 0, 1)),
);

function range(least: number, most: number, step = 1): number[] {
  const values: number[] = [];
  for (let value = least; value <= most; value += step) values.push(value);
  return values;
}

interface WrittenField {
  readonly text: string;
  readonly values: readonly number[];
}

/** Each form in which a field can be written, with values up to a largest one. */
function field(most: number, largest = most): fc.Arbitrary<WrittenField> {
  const value = fc.integer({ min: 0, max: largest });
  const span = fc.tuple(value, value).map(([a, b]) => [Math.min(a, b), Math.max(a, b)] as const);
  const step = fc.integer({ min: 1, max: most });
  const single = fc.oneof(
    value.map((each) => ({ text: `${each}`, values: [each] })),
    span.map(([from, to]) => ({ text: `${from}-${to}`, values: range(from, to) })),
    fc.tuple(span, step).map(([[from, to], by]) => {
      return { text: `${from}-${to}/${by}`, values: range(from, to, by) };
    }),
    step.map((by) => ({ text: `*/${by}`, values: range(0, most, by) })),
  );
  return fc.oneof(
    fc.constant({ text: "*", values: range(0, most) }),
    fc.constant({ text: `0-${most}`, values: range(0, most) }),
    single,
    fc.array(single, { minLength: 1, maxLength: 4 }).map((items) => ({
      text: items.map(({ text }) => text).join(),
      values: [...new Set(items.flatMap(({ values }) => values))],
    })),
  );
}

const zero: WrittenField = { text: "0", values: [0] };

const expressions = fc
  .record({
    seconds: fc.oneof(fc.constant(null), fc.constant(zero), field(59)),
    minutes: fc.oneof(fc.constant(zero), field(59)),
    hours: fc.oneof(field(23), field(23, 4)),
  })
  .map(({ seconds, minutes, hours }) => ({
    text: [...(seconds ? [seconds.text] : []), minutes.text, hours.text, "* * *"].join(" "),
    times: { seconds: (seconds ?? zero).values, minutes: minutes.values, hours: hours.values },
  }));

function timesIn(expression: string, timeZone: string): CronTimes {
  const times = parseCronTimes(expression, timeZone);
  if (!times) throw new Error(`${expression} in ${timeZone} was refused`);
  return times;
}

/** The moments from one to another, both included, or the first of them. */
function momentsBetween(times: CronTimes, fromMs: number, toMs: number, most = Infinity): number[] {
  const moments: number[] = [];
  let ms = times.next(fromMs - 1);
  while (ms !== null && ms <= toMs && moments.length < most) {
    moments.push(ms);
    ms = times.next(ms);
  }
  return moments;
}

/** Around a transition, up to three hours away. */
const offsets = fc
  .oneof(fc.integer({ min: -10_800, max: 10_800 }), fc.integer({ min: -3, max: 3 }))
  .map((seconds) => seconds * 1_000);

const iso = (moments: readonly (number | null)[]): (string | null)[] =>
  moments.map((ms) => (ms === null ? null : new Date(ms).toISOString()));

describe("where clocks are changed", () => {
  it("knows transitions of every kind", () => {
    const jumps = new Set(transitions.map(({ jumpMs }) => jumpMs / hourMs));
    expect([...jumps].toSorted((a, b) => a - b)).toEqual([-2, -1, -0.5, 0.5, 1, 2]);
    expect(new Set(transitions.map(({ timeZone }) => timeZone)).size).toBe(zones.length);
  });

  it("a cron expression comes just as one finds by looking at every second", () => {
    const some = fc.constantFrom(...transitions);
    fc.assert(
      fc.property(expressions, some, offsets, ({ text, times }, transition, offsetMs) => {
        const fromMs = transition.atMs + offsetMs;
        const toMs = fromMs + 4 * hourMs;
        const expected = momentsOf(times, transition, fromMs, toMs).slice(0, mostCompared);
        const cronTimes = timesIn(text, transition.timeZone);
        const found = momentsBetween(cronTimes, fromMs, toMs, mostCompared);
        expect(iso(found)).toEqual(iso(expected));
      }),
      { numRuns: 100 },
    );
  });

  it("a cron expression came last where one finds it by looking back at every second", () => {
    const some = fc.constantFrom(...transitions);
    fc.assert(
      fc.property(expressions, some, offsets, ({ text, times }, transition, offsetMs) => {
        const atMs = transition.atMs + offsetMs;
        const fromMs = atMs - 4 * hourMs;
        const latest = timesIn(text, transition.timeZone).latest(atMs);
        const [expected = null] = momentsOf(times, transition, fromMs, atMs).slice(-1);
        expect(iso([latest !== null && latest < fromMs ? null : latest])).toEqual(iso([expected]));
      }),
      { numRuns: 100 },
    );
  });

  it.each(transitions)(
    "what comes more than once an hour never pauses: $timeZone, $jumpMs",
    ({ timeZone, atMs }) => {
      for (const expression of ["0-59/30 0-59 0-23 * * *", "*/5 * * * *", "7,37 * * * *"]) {
        const times = timesIn(expression, timeZone);
        const moments = momentsBetween(times, atMs - 3 * hourMs, atMs + 3 * hourMs);
        const gaps = moments.slice(1).map((ms, index) => ms - (moments[index] ?? 0));
        expect(Math.max(...gaps)).toBeLessThanOrEqual(times.gaps.longestMs);
      }
    },
  );

  it("a time on certain days comes on each of them, also where the missing hour ends with the day", () => {
    const times = timesIn("30 23 * * SAT", "America/Nuuk");
    const fromMs = Date.UTC(2026, 2, 20);
    expect(iso(momentsBetween(times, fromMs, fromMs + 20 * 24 * hourMs))).toEqual([
      "2026-03-22T01:30:00.000Z",
      "2026-03-29T01:00:00.000Z",
      "2026-04-05T00:30:00.000Z",
    ]);
  });

  it.each([
    ["*/30 * * * * *", 30, 30],
    ["0,10,15 * * * * *", 5, 45],
    ["0 * * * *", 3_600, 3_600],
    ["*/30 * 9-17 * * *", 30, 15 * 3_600 + 30],
    ["30 2 * * *", 86_400, 86_400],
    ["0 9-17 * * MON-FRI", 3_600, 64 * 3_600],
    ["0 0 1 * *", 28 * 86_400, 31 * 86_400],
    ["0 0 29 2 *", 1_461 * 86_400, 1_461 * 86_400],
    ["0 0 29 2 +SUN", 28 * 365.25 * 86_400, 28 * 365.25 * 86_400],
  ])("%s comes at least every %d and at most every %d seconds", (expression, least, most) => {
    for (const zone of ["UTC", "America/New_York", "Australia/Lord_Howe"]) {
      const { gaps } = timesIn(expression, zone);
      expect(gaps).toEqual({ shortestMs: least * 1_000, longestMs: most * 1_000 });
    }
  });
});
