import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { createTokenBucket } from "../../src/lib/rate-limit.ts";

const limits = fc.record({
  requests: fc.integer({ min: 1, max: 5 }),
  perMs: fc.constantFrom(100, 1_000, 60_000),
});

/** Bursts and pauses, in twentieths of a period. */
const gaps = fc.constantFrom(0, 0, 0, 2, 6, 18, 20, 22, 80);

/** How long a call takes to open its connection, in twentieths of a period; two seconds at most. */
const openings = fc.constantFrom(0, 0, 1, 5, 13, 20);

interface Plan {
  readonly gap: number;
  readonly opening: number;
  /** Otherwise its connection fails. */
  readonly opens: boolean;
}

const plans = fc.array(
  fc.record({ gap: gaps, opening: openings, opens: fc.constantFrom(true, true, true, false) }),
  { minLength: 1, maxLength: 40 },
);

const warm = fc.array(
  gaps.map((gap): Plan => ({ gap, opening: 0, opens: true })),
  {
    minLength: 1,
    maxLength: 40,
  },
);

interface Made {
  readonly askedMs: number;
  /** What was said when it asked. */
  readonly expectedMs: number;
  leftMs: number;
  /** Null: never. */
  sentMs: number | null;
}

/** What becomes of calls that wait in line, each until it may leave. */
function run(limit: { requests: number; perMs: number }, calls: readonly Plan[]): readonly Made[] {
  const bucket = createTokenBucket(limit);
  const tickMs = limit.perMs / 20;
  const made: Made[] = [];
  const waiting: { call: Made; plan: Plan }[] = [];
  const coming = [...calls];
  let events: { atMs: number; happen: () => void }[] = [];
  let askedMs = (coming[0]?.gap ?? 0) * tickMs;
  const leave = (nowMs: number): void => {
    while (waiting.length > 0 && bucket.freeAtMs(nowMs) <= nowMs) {
      const first = waiting.shift();
      if (!first) return;
      const { call, plan } = first;
      call.leftMs = nowMs;
      const token = bucket.take(nowMs);
      const send = (sentMs: number): void => {
        call.sentMs = sentMs;
        token.sent(sentMs);
      };
      const atMs = nowMs + plan.opening * tickMs;
      if (plan.opening === 0 && plan.opens) send(nowMs);
      else events.push({ atMs, happen: () => (plan.opens ? send(atMs) : token.ended()) });
    }
  };
  for (let tick = 0; made.length < calls.length || waiting.length + events.length > 0; tick += 1) {
    const nowMs = tick * tickMs;
    for (const { atMs, happen } of events) if (atMs <= nowMs) happen();
    events = events.filter(({ atMs }) => atMs > nowMs);
    leave(nowMs);
    while (coming[0] && askedMs <= nowMs) {
      const plan = coming.shift();
      if (!plan) break;
      const expectedMs = bucket.freeAtMs(nowMs, waiting.length);
      const call: Made = { askedMs: nowMs, expectedMs, leftMs: Number.NaN, sentMs: null };
      made.push(call);
      waiting.push({ call, plan });
      askedMs += (coming[0]?.gap ?? 0) * tickMs;
      leave(nowMs);
    }
  }
  return made;
}

const inOrder = (times: readonly number[]) => times.toSorted((a, b) => a - b);

describe("a key's token bucket", () => {
  it("lets no more calls be sent in any window than the limit says, however long their connections take", () => {
    const openWithin = fc.record({
      requests: fc.integer({ min: 1, max: 5 }),
      perMs: fc.constantFrom(100, 1_000, 2_000),
    });
    fc.assert(
      fc.property(openWithin, plans, (limit, calls) => {
        const sent = inOrder(run(limit, calls).flatMap(({ sentMs }) => sentMs ?? []));
        for (const startMs of sent) {
          const inWindow = sent.filter((ms) => ms >= startMs && ms <= startMs + limit.perMs);
          expect(inWindow.length).toBeLessThanOrEqual(limit.requests);
        }
      }),
      { numRuns: 500 },
    );
  });

  it("tells beforehand when a call may leave, where those before it are sent at once", () => {
    fc.assert(
      fc.property(limits, warm, (limit, calls) => {
        for (const { askedMs, expectedMs, leftMs } of run(limit, calls)) {
          expect(expectedMs).toBeGreaterThanOrEqual(askedMs);
          expect(Math.abs(leftMs - expectedMs)).toBeLessThan(limit.perMs / 1_000);
        }
      }),
      { numRuns: 500 },
    );
  });

  it("holds back no call that the limit allows, but for a twentieth of the period", () => {
    fc.assert(
      fc.property(limits, warm, (limit, calls) => {
        const made = run(limit, calls);
        made.forEach(({ askedMs, leftMs }, index) => {
          const earlier = made[index - limit.requests]?.leftMs ?? Number.NEGATIVE_INFINITY;
          const soonestMs = Math.max(askedMs, earlier + limit.perMs * 1.05);
          expect(leftMs).toBeLessThan(soonestMs + limit.perMs / 1_000);
        });
      }),
    );
  });

  it("gives a whole burst at once after a pause, and the next call a period later", () => {
    const bucket = createTokenBucket({ requests: 2, perMs: 1_000 });
    for (const nowMs of [500, 500]) {
      expect(bucket.freeAtMs(nowMs)).toBe(500);
      bucket.take(nowMs).sent(nowMs);
    }
    expect(bucket.freeAtMs(500)).toBe(1_550);
    expect([0, 1, 2, 3, 4].map((waiting) => bucket.freeAtMs(500, waiting))).toEqual([
      1_550, 1_550, 2_600, 2_600, 3_650,
    ]);
  });
});

describe("the token of a call", () => {
  it("comes back a period after it was sent, not after it left", () => {
    const bucket = createTokenBucket({ requests: 1, perMs: 1_000 });
    const token = bucket.take(0);
    expect(bucket.freeAtMs(300)).toBe(1_350);
    token.sent(300);
    expect([bucket.freeAtMs(300), bucket.freeAtMs(1_300)]).toEqual([1_350, 1_350]);
    token.ended();
    expect([bucket.freeAtMs(1_349), bucket.freeAtMs(1_350)]).toEqual([1_350, 1_350]);
  });

  it("comes back a period after it left if it ended without being sent", () => {
    const bucket = createTokenBucket({ requests: 1, perMs: 1_000 });
    bucket.take(0).ended();
    expect(bucket.freeAtMs(300)).toBe(1_050);
  });

  it("is not waited for without end: a connection that never opens keeps it two seconds longer", () => {
    const bucket = createTokenBucket({ requests: 1, perMs: 1_000 });
    bucket.take(0);
    expect(bucket.freeAtMs(1_999)).toBe(3_049);
    expect([bucket.freeAtMs(2_500), bucket.freeAtMs(3_050)]).toEqual([3_050, 3_050]);
  });

  it("is taken once more by a call that is sent when its token was back already", () => {
    const bucket = createTokenBucket({ requests: 1, perMs: 1_000 });
    const late = bucket.take(0);
    expect(bucket.freeAtMs(4_000)).toBe(4_000);
    late.sent(4_000);
    expect(bucket.freeAtMs(4_000)).toBe(5_050);
    expect(bucket.freeAtMs(5_050)).toBe(5_050);
  });
});
