import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { createTokenBucket, type RateLimit } from "../../src/lib/rate-limit.ts";

/** Bursts and pauses, in twentieths of a period. */
const gaps = fc.constantFrom(0, 0, 0, 2, 6, 18, 20, 22, 80);

/** How long a call takes to open its connection, in twentieths of a period; null: it fails. */
const openings = fc.constantFrom(0, 0, 1, 5, 13, 20, null);

interface Plan {
  readonly gap: number;
  readonly opening: number | null;
}

const plansOf = (opening: fc.Arbitrary<number | null>) =>
  fc.array(fc.record({ gap: gaps, opening }), { minLength: 1, maxLength: 40 });

const limits = fc.record({
  requests: fc.integer({ min: 1, max: 5 }),
  perMs: fc.constantFrom(100, 1_000, 2_000),
});

interface Made {
  readonly askedMs: number;
  /** What the bucket said when it asked. */
  readonly expectedMs: number;
  leftMs: number;
  /** Null: never. */
  sentMs: number | null;
}

/** What becomes of calls that wait in line, each until it may leave. */
function run(limit: RateLimit, plans: readonly Plan[]): readonly Made[] {
  const bucket = createTokenBucket(limit);
  const tickMs = limit.perMs / 20;
  const made: Made[] = [];
  const waiting: (() => void)[] = [];
  let events: { readonly atMs: number; readonly happen: () => void }[] = [];
  let nowMs = 0;
  const leaveAll = (): void => {
    while (waiting.length > 0 && bucket.freeAtMs(nowMs) <= nowMs) waiting.shift()?.();
  };
  let askedMs = 0;
  const coming = plans.map(({ gap, opening }) => ({ atMs: (askedMs += gap * tickMs), opening }));
  for (; coming.length + waiting.length + events.length > 0; nowMs += tickMs) {
    const due = events.filter(({ atMs }) => atMs <= nowMs);
    events = events.filter(({ atMs }) => atMs > nowMs);
    for (const { happen } of due) happen();
    leaveAll();
    while (coming[0] && coming[0].atMs <= nowMs) {
      const opening = coming.shift()?.opening ?? null;
      const expectedMs = bucket.freeAtMs(nowMs, waiting.length);
      const call: Made = { askedMs: nowMs, expectedMs, leftMs: Number.NaN, sentMs: null };
      made.push(call);
      waiting.push(() => {
        call.leftMs = nowMs;
        const token = bucket.take(nowMs);
        const happen = (): void => {
          if (opening === null) return token.ended();
          call.sentMs = nowMs;
          token.sent(nowMs);
        };
        if (opening === 0) happen();
        else events.push({ atMs: nowMs + (opening ?? 5) * tickMs, happen });
      });
      leaveAll();
    }
  }
  return made;
}

describe("a key's token bucket", () => {
  it("lets no more calls be sent in any window than the limit says, however long their connections take", () => {
    fc.assert(
      fc.property(limits, plansOf(openings), (limit, plans) => {
        const sent = run(limit, plans).flatMap(({ sentMs }) => sentMs ?? []);
        for (const startMs of sent) {
          const inWindow = sent.filter((ms) => ms >= startMs && ms <= startMs + limit.perMs);
          expect(inWindow.length).toBeLessThanOrEqual(limit.requests);
        }
      }),
      { numRuns: 500 },
    );
  });

  it("says beforehand when a call may leave, and holds none back longer than the limit and a twentieth", () => {
    fc.assert(
      fc.property(limits, plansOf(fc.constant(0)), (limit, plans) => {
        const made = run(limit, plans);
        for (const [index, { askedMs, expectedMs, leftMs }] of made.entries()) {
          const earlierMs = made[index - limit.requests]?.leftMs ?? -Infinity;
          const soonestMs = Math.max(askedMs, earlierMs + limit.perMs * 1.05);
          expect(Math.abs(leftMs - expectedMs)).toBeLessThan(limit.perMs / 1_000);
          expect(leftMs).toBeLessThan(soonestMs + limit.perMs / 1_000);
        }
      }),
      { numRuns: 500 },
    );
  });
});

describe("the token of a call", () => {
  const limit = { requests: 1, perMs: 1_000 };

  it("comes back a period after it was sent, or after it left if it ended without being sent", () => {
    const bucket = createTokenBucket(limit);
    const token = bucket.take(0);
    expect(bucket.freeAtMs(300)).toBe(1_350);
    token.sent(300);
    token.ended();
    expect([bucket.freeAtMs(1_300), bucket.freeAtMs(1_350)]).toEqual([1_350, 1_350]);
    const other = createTokenBucket(limit);
    other.take(0).ended();
    expect(other.freeAtMs(300)).toBe(1_050);
  });

  it("is not waited for without end: a connection that never opens keeps it two seconds longer", () => {
    const bucket = createTokenBucket(limit);
    bucket.take(0);
    expect(bucket.freeAtMs(1_999)).toBe(3_049);
    expect([bucket.freeAtMs(2_500), bucket.freeAtMs(3_050)]).toEqual([3_050, 3_050]);
  });

  it("is taken once more by a call that is sent when its token was back already", () => {
    const bucket = createTokenBucket(limit);
    const late = bucket.take(0);
    expect(bucket.freeAtMs(4_000)).toBe(4_000);
    late.sent(4_000);
    expect([bucket.freeAtMs(4_000), bucket.freeAtMs(5_050)]).toEqual([5_050, 5_050]);
  });
});
