import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { parseCronTimes, wrongCronField, type CronTimes } from "../../src/lib/cron-times.ts";
import { zoneOffset } from "../../src/lib/zone-offset.ts";

const secondMs = 1_000;
const hourMs = 3_600_000;
const dayMs = 24 * hourMs;

function timesIn(expression: string, timeZone = "Europe/Berlin"): CronTimes {
  const times = parseCronTimes(expression, timeZone);
  if (!times) throw new Error(`${expression} in ${timeZone} was refused`);
  return times;
}

const iso = (ms: number | null): string | null => (ms === null ? null : new Date(ms).toISOString());

/** The first moments from one to another, both included. */
function momentsBetween(times: CronTimes, fromMs: number, toMs: number, most: number): number[] {
  const moments: number[] = [];
  let ms = times.next(fromMs - 1);
  while (ms !== null && ms <= toMs && moments.length < most) {
    moments.push(ms);
    ms = times.next(ms);
  }
  return moments;
}

describe("the moments of a cron expression", () => {
  it("are those of its time zone, summer and winter", () => {
    const { next } = timesIn("0 2 * * SUN");
    expect(iso(next(Date.UTC(2026, 6, 1)))).toBe("2026-07-05T00:00:00.000Z");
    expect(iso(next(Date.UTC(2026, 11, 1)))).toBe("2026-12-06T01:00:00.000Z");
  });

  it.each(["0 2 * * *", "*/30 * * * *"])("include the moment itself as the latest: %s", (text) => {
    const { latest } = timesIn(text);
    const atMs = Date.UTC(2026, 6, 1);
    expect([latest(atMs - 1), latest(atMs)].map(iso)).toEqual([
      expect.not.stringContaining("2026-07-01T00:00"),
      "2026-07-01T00:00:00.000Z",
    ]);
  });

  it("are none of a day that no year has", () => {
    const { latest, next } = timesIn("0 0 31 2 *");
    expect([latest(Date.UTC(2026, 0)), next(Date.UTC(2026, 0))]).toEqual([null, null]);
  });

  it.each([
    ["*/30 * * * * *", 30],
    ["0,10,15 * * * * *", 5],
    ["0 * * * *", 3_600],
    ["*/30 * 9-17 * * *", 30],
    ["30 2 * * *", 86_400],
    ["0 1,23 * * *", 2 * 3_600],
    ["0 9-17 * * MON-FRI", 3_600],
    ["0 0 * * MON,WED", 2 * 86_400],
    ["0 0 1 * *", 28 * 86_400],
    ["0 0 29 2 *", 1_461 * 86_400],
    ["0 0 29 2 +SUN", 28 * 365.25 * 86_400],
  ])("of %s are at least %d seconds apart", (expression, least) => {
    for (const zone of ["UTC", "Australia/Lord_Howe"]) {
      expect(timesIn(expression, zone).intervalMs).toEqual(least * secondMs);
    }
  });
});

describe("a cron expression", () => {
  it.each([
    "*/30 * * * * *",
    "0-59/30 0-59 0-23 1-31 1-12 0-7",
    "  0   2 * JAN-MAR SUN,3  ",
    "0 0 15W,1,L * ?",
    "0 0 LW * *",
    "0 0 ? * 5#2,MONL",
    "0 0 1-7 * +MON",
    "00 02 * * 7",
    "@hourly",
    "@DAILY",
  ])("can be %j", (expression) => {
    expect(parseCronTimes(expression, "UTC")).toBeDefined();
  });

  // A library that expands ranges first would take all memory, or all time.
  it.each(["99", "0-99999999", "99999999-0", "1-2-3", "*/99999999", "*/0", "1e9", "5/2", "1,,2"])(
    "names the field that cannot be %s",
    (value) => {
      const names = ["second", "minute", "hour", "day of month", "month", "day of week"];
      for (const [index, name] of names.entries()) {
        const expression = names.map((_, at) => (at === index ? value : "*")).join(" ");
        expect(parseCronTimes(expression, "UTC")).toBeUndefined();
        expect(wrongCronField(expression)).toBe(name);
      }
    },
  );

  it.each([
    ["of nothing", ""],
    ["of four fields", "0 2 * *"],
    ["with a year", "0 0 2 * * SUN 2020"],
    ["for a date", "2026-11-20T00:00:00Z"],
    ["of a million characters", `${"1,".repeat(500_000)}1 * * * *`],
  ])("%s is wrong as a whole", (_, expression) => {
    expect(parseCronTimes(expression, "UTC")).toBeUndefined();
    expect(wrongCronField(expression)).toBeUndefined();
  });

  it("needs a time zone that exists", () => {
    expect(parseCronTimes("0 2 * * *", "Europe/Berlim")).toBeUndefined();
  });
});

interface Transition {
  readonly timeZone: string;
  /** The first moment of the new offset. */
  readonly atMs: number;
  readonly beforeMs: number;
  readonly afterMs: number;
}

/** Where the clocks of a zone are changed in 2026. */
function transitionsOf(timeZone: string): Transition[] {
  const offset = zoneOffset(timeZone);
  const found: Transition[] = [];
  for (let dayStartMs = Date.UTC(2026, 0); dayStartMs < Date.UTC(2027, 0); dayStartMs += dayMs) {
    const [beforeMs, afterMs] = [offset(dayStartMs), offset(dayStartMs + dayMs)];
    if (beforeMs === afterMs) continue;
    let atMs = dayStartMs;
    while (offset(atMs) === beforeMs) atMs += hourMs / 2;
    found.push({ timeZone, atMs, beforeMs, afterMs });
  }
  return found;
}

/** Besides zones like any other: half an hour, two hours, at midnight, in Ramadan, offsets of minutes. */
const zones =
  `America/New_York Europe/Berlin Europe/Dublin Australia/Lord_Howe Antarctica/Troll Africa/Cairo
  Africa/Casablanca America/Havana Asia/Beirut America/Santiago America/St_Johns Pacific/Chatham
  Asia/Gaza America/Nuuk`.split(/\s+/);

const transitions = zones.flatMap(transitionsOf);

interface Field {
  readonly text: string;
  readonly values: readonly number[];
}

function range(least: number, most: number, step = 1): number[] {
  return Array.from(
    { length: Math.floor((most - least) / step) + 1 },
    (_, at) => least + at * step,
  );
}

/** A field as it can be written, with values up to a largest one. */
function field(most: number, largest = most): fc.Arbitrary<Field> {
  const value = fc.integer({ min: 0, max: largest });
  const span = fc.tuple(value, value).map(([a, b]) => [Math.min(a, b), Math.max(a, b)] as const);
  const step = fc.integer({ min: 1, max: most });
  const all = { text: "*", values: range(0, most) };
  const single = fc.oneof(
    value.map((each) => ({ text: `${each}`, values: [each] })),
    fc.tuple(span, step).map(([[from, to], by]) => {
      return { text: `${from}-${to}/${by}`, values: range(from, to, by) };
    }),
    step.map((by) => ({ text: `*/${by}`, values: range(0, most, by) })),
  );
  const list = fc.array(single, { minLength: 1, maxLength: 4 }).map((items) => ({
    text: items.map(({ text }) => text).join(),
    values: items.flatMap(({ values }) => values),
  }));
  return fc.oneof(fc.constantFrom(all, { ...all, text: `0-${most}` }), single, list);
}

const zero: Field = { text: "0", values: [0] };

const expressions = fc.record({
  seconds: fc.oneof(fc.constant(zero), field(59)),
  minutes: fc.oneof(fc.constant(zero), field(59)),
  hours: fc.oneof(field(23), field(23, 4)),
});

type Fields = typeof expressions extends fc.Arbitrary<infer Value> ? Value : never;

const textOf = ({ seconds, minutes, hours }: Fields): string =>
  `${seconds.text} ${minutes.text} ${hours.text} * * *`;

/** When an expression comes between two moments, found by looking at every second. */
function model(
  { seconds, minutes, hours }: Fields,
  { atMs, beforeMs, afterMs }: Transition,
  fromMs: number,
  toMs: number,
): number[] {
  const ofMinute = new Set(seconds.values);
  const ofHour = new Set(minutes.values);
  const ofDay = new Set(hours.values);
  const fits = (clockMs: number): boolean => {
    const second = Math.floor(clockMs / secondMs);
    return (
      ofMinute.has(second % 60) &&
      ofHour.has(Math.floor(second / 60) % 60) &&
      ofDay.has(Math.floor(second / 3_600) % 24)
    );
  };
  const namesHours = ofDay.size < 24;
  const isOnce = namesHours && ofMinute.size * ofHour.size === 1;
  // A missing hour that ends with its day is not made up for.
  const endsDay = (atMs + afterMs) % dayMs === 0;
  const missing = endsDay ? [] : range(atMs + beforeMs, atMs + afterMs - secondMs, secondMs);
  return range(fromMs, toMs, secondMs).filter((ms) => {
    if (ms === atMs && namesHours && missing.some(fits)) return true;
    const clockMs = ms + (ms < atMs ? beforeMs : afterMs);
    const isRepeated = ms >= atMs && clockMs < atMs + beforeMs;
    return fits(clockMs) && !(isRepeated && isOnce);
  });
}

describe("where clocks are changed", () => {
  it("a single time in the repeated hour came at the first of the two, in every minute after it", () => {
    const { latest } = timesIn("30 1 * * *", "America/New_York");
    const fromMs = Date.UTC(2026, 10, 1, 5, 30);
    for (let atMs = fromMs; atMs < fromMs + 12 * hourMs; atMs += 60_000)
      expect([iso(atMs), iso(latest(atMs))]).toEqual([iso(atMs), iso(fromMs)]);
  });

  const some = fc.constantFrom(...transitions);
  /** Around a transition, up to three hours away. */
  const offsets = fc
    .oneof(fc.integer({ min: -10_800, max: 10_800 }), fc.integer({ min: -3, max: 3 }))
    .map((seconds) => seconds * secondMs);

  it("a cron expression comes just as one finds by looking at every second", () => {
    // In a repeated hour, croner takes up to 40 ms for each of an expression that comes every second.
    const mostCompared = 50;
    fc.assert(
      fc.property(expressions, some, offsets, (fields, transition, offsetMs) => {
        const fromMs = transition.atMs + offsetMs;
        const toMs = fromMs + 4 * hourMs;
        const expected = model(fields, transition, fromMs, toMs).slice(0, mostCompared);
        const times = timesIn(textOf(fields), transition.timeZone);
        const found = momentsBetween(times, fromMs, toMs, mostCompared);
        expect(found.map(iso)).toEqual(expected.map(iso));
      }),
      { numRuns: 50 },
    );
  });

  it("a cron expression came last where one finds it by looking back at every second", () => {
    fc.assert(
      fc.property(expressions, some, offsets, (fields, transition, offsetMs) => {
        const atMs = transition.atMs + offsetMs;
        const fromMs = atMs - 4 * hourMs;
        const latest = timesIn(textOf(fields), transition.timeZone).latest(atMs);
        const expected = model(fields, transition, fromMs, atMs).at(-1) ?? null;
        expect(iso(latest !== null && latest < fromMs ? null : latest)).toBe(iso(expected));
      }),
      { numRuns: 50 },
    );
  });
});
