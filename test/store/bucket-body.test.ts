import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { byStatus, emptyAccount } from "../../src/core/occupancy/bucket.ts";
import type { Bucket, Extent, NameAccount } from "../../src/core/occupancy/bucket.ts";
import { SteadyNames } from "../../src/core/occupancy/steady-names.ts";
import { noStays } from "../../src/core/occupancy/stay-sketch.ts";
import type { StaySketch } from "../../src/core/occupancy/stay-sketch.ts";
import { emptyServerSums, totalOfBucket } from "../../src/core/occupancy/server-sums.ts";
import { packBody, packOpenBody, totalOfBody, unpackBody } from "../../src/store/bucket-body.ts";
import { PackedTotal, packTotal } from "../../src/store/bucket-totals.ts";
import { NumberReader, NumberWriter } from "../../src/store/packed-numbers.ts";

const number = fc.oneof(
  fc.constantFrom(0, 1, 127, 128, 300_000, 2 ** 32, Number.MAX_SAFE_INTEGER),
  fc.maxSafeNat(),
  fc.nat(600_000),
);
const count = fc.oneof(fc.nat(9), fc.nat(2 ** 31 - 1));

const byEach = <T>(value: fc.Arbitrary<T>) =>
  fc.record({ idle: value, occupied: value, error: value, unknown: value });

const extent: fc.Arbitrary<Extent> = fc
  .tuple(byEach(count), byEach(count))
  .map(([least, more]) => ({ least, most: byStatus((status) => least[status] + more[status]) }));

const bin = fc.nat(1_000).map(String);
const sketch: fc.Arbitrary<StaySketch> = fc.oneof(
  fc.constant(noStays),
  fc
    .tuple(number, fc.dictionary(bin, fc.integer({ min: 1 }), { minKeys: 1, maxKeys: 9 }))
    // An object has numbers in their order.
    .map(([sumMs, byBin]) => ({
      sumMs,
      bins: Object.keys(byBin).map(Number),
      counts: Object.values(byBin),
    })),
);

const account: fc.Arbitrary<NameAccount> = fc.record({
  ms: byEach(fc.oneof(fc.constant(0), number)),
  unobservedMs: fc.oneof(fc.constant(0), number),
  extent: fc.option(extent),
  exhaustedMs: fc.oneof(fc.constant(0), number),
  stays: byEach(sketch),
});

const name = fc.oneof(
  fc.constantFrom("", "other", "__proto__", "a\u0000b", "\ud800", "沙箱 🏖"),
  fc.string({ unit: "binary" }),
);

const bucket: fc.Arbitrary<Bucket> = fc.record({
  startMs: number,
  bookedMs: number,
  unobservedMs: number,
  extent: fc.option(extent),
  names: fc.array(fc.tuple(name, account), { maxLength: 6 }).map((names) => new Map(names)),
});

function pack(packed: Bucket) {
  const names = [...packed.names.keys()].toSorted();
  const body = packBody(packed, (each) => names.indexOf(each) + 1, new NumberWriter());
  const unpack = (bytes = body): Bucket =>
    unpackBody(packed, (id) => names[id - 1] ?? "nobody", new NumberReader(bytes));
  return { body, unpack };
}

describe("the body of a bucket", () => {
  it("gives back whatever was packed, with any names and numbers", () => {
    fc.assert(
      fc.property(bucket, (any) => {
        expect(pack(any).unpack()).toEqual(any);
      }),
    );
  });

  it("says of an open bucket what goes on, at whatever later time", () => {
    const ms = fc.nat(600_000);
    const named = fc.dictionary(fc.constantFrom("git", "jira", "沙箱"), byEach(fc.nat(9)));
    fc.assert(
      fc.property(
        bucket,
        named,
        named,
        fc.boolean(),
        ms,
        ms,
        (any, some, more, observed, ...times) => {
          const [goneMs, laterMs] = times;
          const tallies = new Map(
            Object.entries(some).map(([of, listed]) => {
              const servers = byStatus((status) => listed[status] + (more[of]?.[status] ?? 0));
              return [of, { name: of, listed, servers }];
            }),
          );
          const booking = { elapsedMs: goneMs, observed, tallies };
          const begun = new Map([
            ...any.names,
            ...[...tallies.keys()].map((each) => [each, emptyAccount] as const),
          ]);
          const gone = new SteadyNames({ ...any, names: begun, isFirst: false }, booking, goneMs);
          const after = (names: SteadyNames | null): Bucket => ({
            ...any,
            bookedMs: any.bookedMs + (names?.ms ?? 0),
            names: new Map(names),
          });
          const later = after(gone.goOn(booking, laterMs));
          const numbers = [...later.names.values()].flatMap((each) => [
            ...Object.values(each.ms),
            each.unobservedMs,
            each.exhaustedMs,
          ]);
          fc.pre([later.bookedMs, ...numbers].every(Number.isSafeInteger));
          const ids = [...begun.keys()].toSorted();
          const body = packOpenBody(
            { ...after(gone), names: gone },
            (each) => ids.indexOf(each) + 1,
            new NumberWriter(),
          );
          const nameOf = (id: number): string => ids[id - 1] ?? "nobody";
          expect(unpackBody(later, nameOf, new NumberReader(body))).toEqual(later);
          const [summed, unpacked] = [emptyServerSums(), emptyServerSums()];
          expect(totalOfBody(later, body).addTo(summed)).toBe(totalOfBucket(later).addTo(unpacked));
          const { stays, ...sums } = unpacked;
          const all = [...Object.values(sums.ms), sums.unobservedMs, stays.sumMs];
          fc.pre(all.every(Number.isSafeInteger));
          expect(summed).toMatchObject(sums);
          expect(summed.stays.toSketch()).toEqual(stays.toSketch());
        },
      ),
    );
  });

  it("adds up to what its names hold, without them", () => {
    fc.assert(
      fc.property(bucket, (any) => {
        const [summed, unpacked] = [emptyServerSums(), emptyServerSums()];
        const { body } = pack(any);
        const mostOccupied = totalOfBody(any, body).addTo(summed);
        expect(mostOccupied).toBe(totalOfBucket(any).addTo(unpacked));
        const { stays, ...times } = unpacked;
        // Time of more servers than there are milliseconds to count is not exact.
        fc.pre([...Object.values(times.ms), times.unobservedMs].every(Number.isSafeInteger));
        fc.pre(Number.isSafeInteger(stays.sumMs));
        expect(summed).toMatchObject(times);
        expect(summed.stays.toSketch()).toEqual(stays.toSketch());
      }),
    );
  });

  it("adds up to the same when all names were packed together", () => {
    fc.assert(
      fc.property(bucket, (any) => {
        const [asOne, byNames] = [emptyServerSums(), emptyServerSums()];
        const mostOccupied = totalOfBucket(any).addTo(byNames);
        const stays = byNames.stays.toSketch();
        const numbers = [...Object.values(byNames.ms), byNames.unobservedMs, stays.sumMs];
        fc.pre([...numbers, ...stays.counts].every(Number.isSafeInteger));
        const total = new PackedTotal(
          any.startMs,
          packTotal(totalOfBucket(any), new NumberWriter()),
        );
        expect(total).toMatchObject({ startMs: any.startMs, bookedMs: any.bookedMs });
        expect(total.unobservedMs).toBe(any.unobservedMs);
        expect(total.addTo(asOne)).toBe(mostOccupied);
        expect(asOne.ms).toEqual(byNames.ms);
        expect(asOne.unobservedMs).toBe(byNames.unobservedMs);
        expect(asOne.stays.toSketch()).toEqual(stays);
      }),
    );
  });

  it("gives back times of servers of which there were as many all the time", () => {
    const parts = fc.tuple(fc.nat(100_000), fc.nat(100_000), fc.nat(100_000));
    fc.assert(
      fc.property(
        parts,
        fc.integer({ min: 1, max: 9 }),
        ([occupied, error, unobservedMs], servers) => {
          const idle = servers * 300_000 - occupied - error - unobservedMs;
          fc.pre(idle >= 0);
          const ms = { idle, occupied, error, unknown: 0 };
          const steady = { ...emptyAccount, ms, unobservedMs };
          const any = {
            startMs: 0,
            bookedMs: 300_000,
            unobservedMs: 0,
            extent: null,
            names: new Map([["git", steady]]),
          };
          expect(pack(any).unpack()).toEqual(any);
        },
      ),
    );
  });

  it("of five minutes of twenty names takes few bytes", () => {
    const counts = (occupied: number) => ({ idle: 5 - occupied, occupied, error: 0, unknown: 0 });
    const stay = { sumMs: 421_337, bins: [324], counts: [1] };
    const names = Array.from({ length: 20 }, (_, index): [string, NameAccount] => [
      `name-${index}`,
      {
        ms: { idle: 1_000_003 + index, occupied: 499_997 - index, error: 0, unknown: 0 },
        unobservedMs: 0,
        extent: { least: counts(1), most: counts(3) },
        exhaustedMs: 0,
        stays: index % 2 === 0 ? { ...emptyAccount.stays, occupied: stay } : emptyAccount.stays,
      },
    ]);
    const five = {
      startMs: 0,
      bookedMs: 300_000,
      unobservedMs: 0,
      extent: null,
      names: new Map(names),
    };
    expect(pack(five).body.length).toBeLessThan(300);
  });

  it("that is cut short is refused rather than taken for less", () => {
    fc.assert(
      fc.property(bucket, fc.nat(), (any, at) => {
        const { body, unpack } = pack(any);
        expect(() => unpack(body.subarray(0, at % body.length))).toThrow(RangeError);
      }),
    );
  });
});

it.each([-1, 0.5, Number.NaN, 2 ** 53])("%d is no number to be packed", (value) => {
  expect(() => new NumberWriter().write(value)).toThrow(RangeError);
});
