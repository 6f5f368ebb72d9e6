import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { createTokenBucket } from "../../src/core/rate-limit.ts";

const limits = fc.record({
  requests: fc.integer({ min: 1, max: 5 }),
  perMs: fc.constantFrom(100, 1_000, 60_000),
});

/** Bursts and pauses, in tenths of a period. */
const gaps = fc.array(fc.constantFrom(0, 0, 0, 1, 3, 9, 10, 11, 40), {
  minLength: 1,
  maxLength: 40,
});

/** When each of the calls leaves that are asked for after these gaps. */
function leave(limit: { requests: number; perMs: number }, pauses: readonly number[]) {
  const bucket = createTokenBucket(limit);
  let askedMs = 0;
  return pauses.map((gap) => {
    askedMs += (gap * limit.perMs) / 10;
    const expectedMs = Math.max(askedMs, bucket.nextFreeMs);
    const leavesMs = bucket.take(askedMs);
    return { askedMs, expectedMs, leavesMs };
  });
}

describe("a key's token bucket", () => {
  it("lets no more calls leave in any window than the limit says, whenever they are asked for", () => {
    fc.assert(
      fc.property(limits, gaps, (limit, pauses) => {
        const leaves = leave(limit, pauses).map(({ leavesMs }) => leavesMs);
        for (const startMs of leaves) {
          const inWindow = leaves.filter((ms) => ms >= startMs && ms <= startMs + limit.perMs);
          expect(inWindow.length).toBeLessThanOrEqual(limit.requests);
        }
      }),
      { numRuns: 500 },
    );
  });

  it("serves first come, first served, and tells beforehand when", () => {
    fc.assert(
      fc.property(limits, gaps, (limit, pauses) => {
        let lastMs = Number.NEGATIVE_INFINITY;
        for (const { askedMs, expectedMs, leavesMs } of leave(limit, pauses)) {
          expect(leavesMs).toBe(expectedMs);
          expect(leavesMs).toBeGreaterThanOrEqual(askedMs);
          expect(leavesMs).toBeGreaterThanOrEqual(lastMs);
          lastMs = leavesMs;
        }
      }),
      { numRuns: 500 },
    );
  });

  it("holds back no call that the limit allows, but for a twentieth of the period", () => {
    fc.assert(
      fc.property(limits, gaps, (limit, pauses) => {
        const calls = leave(limit, pauses);
        calls.forEach(({ askedMs, leavesMs }, index) => {
          const earlier = calls[index - limit.requests]?.leavesMs ?? Number.NEGATIVE_INFINITY;
          expect(leavesMs).toBeLessThanOrEqual(Math.max(askedMs, earlier + limit.perMs * 1.05));
        });
      }),
    );
  });

  it("gives a whole burst at once after a pause, and the next call a period later", () => {
    const bucket = createTokenBucket({ requests: 2, perMs: 1_000 });
    expect([bucket.take(500), bucket.take(500), bucket.take(500)]).toEqual([500, 500, 1_550]);
    expect(bucket.nextFreeMs).toBe(1_550);
  });
});
