import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { AttemptFailure, AttemptFailureReason } from "../../src/delivery/receiver.ts";
import { backoffMs, decide } from "../../src/delivery/retry.ts";
import { seededRandom } from "../../src/platform/random.ts";

const nowMs = 1_000_000;
const giveUpAfterMs = 86_400_000;
const giveUpAtMs = nowMs + giveUpAfterMs;
const failuresArbitrary = fc.integer({ min: 1, max: 1_000 });
const drawArbitrary = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true });

function failure(reason: AttemptFailureReason, retryAfterMs: number | null = null): AttemptFailure {
  return { kind: "failed", reason, detail: "", retryAfterMs };
}

describe("backoff", () => {
  it("stays between a tenth of a second and five minutes, under a ceiling that doubles", () => {
    fc.assert(
      fc.property(failuresArbitrary, drawArbitrary, (failures, draw) => {
        const waitMs = backoffMs(failures, () => draw);
        expect(waitMs).toBeGreaterThanOrEqual(100);
        expect(waitMs).toBeLessThanOrEqual(Math.min(300_000, 1_000 * 2 ** failures));
      }),
    );
  });

  it("spreads over the whole of its range, so that receivers are not hit in step", () => {
    fc.assert(
      fc.property(failuresArbitrary, drawArbitrary, (failures, draw) => {
        const ceilingMs = Math.min(300_000, 1_000 * 2 ** failures);
        expect(backoffMs(failures, () => draw)).toBeCloseTo(Math.max(100, draw * ceilingMs), 3);
      }),
    );
  });

  it("is about a second at first and two and a half minutes in the end, in the mean", () => {
    const random = seededRandom(1);
    const mean = (failures: number): number => {
      const waits = Array.from({ length: 4_000 }, () => backoffMs(failures, random));
      return waits.reduce((sum, wait) => sum + wait, 0) / waits.length;
    };
    expect(mean(1) / 1_000).toBeCloseTo(1, 1);
    expect(mean(2) / 2_000).toBeCloseTo(1, 1);
    expect(mean(3) / 4_000).toBeCloseTo(1, 1);
    expect(mean(50) / 150_000).toBeCloseTo(1, 1);
  });
});

describe("the fate of a notification", () => {
  it.each<[AttemptFailureReason, "retry" | "dead"]>([
    ["timeout", "retry"],
    ["network", "retry"],
    ["rate_limited", "retry"],
    ["server_error", "retry"],
    ["rejected", "dead"],
    ["gone", "dead"],
    ["redirect", "dead"],
  ])("after %s is %s", (reason, kind) => {
    const decision = decide(failure(reason), 1, { nowMs, giveUpAtMs }, () => 0.5);
    expect(decision).toEqual(
      kind === "dead" ? { kind, reason } : { kind, nextAttemptAtMs: nowMs + 1_000 },
    );
  });

  it("is retried no sooner than asked and never after the time to give up", () => {
    const retryAfterArbitrary = fc.integer({ min: 0, max: 2 * giveUpAfterMs });
    const ageArbitrary = fc.integer({ min: 0, max: giveUpAfterMs - 1 });
    fc.assert(
      fc.property(
        failuresArbitrary,
        drawArbitrary,
        retryAfterArbitrary,
        ageArbitrary,
        (failures, draw, retryAfterMs, ageMs) => {
          const times = { nowMs: nowMs + ageMs, giveUpAtMs };
          const decision = decide(
            failure("rate_limited", retryAfterMs),
            failures,
            times,
            () => draw,
          );
          if (decision.kind === "dead") throw new Error("dead before its time");
          const { nextAttemptAtMs } = decision;
          expect(nextAttemptAtMs).toBeLessThanOrEqual(giveUpAtMs);
          expect(nextAttemptAtMs).toBeGreaterThanOrEqual(
            Math.min(giveUpAtMs, times.nowMs + retryAfterMs),
          );
          expect(Number.isInteger(nextAttemptAtMs)).toBe(true);
        },
      ),
    );
  });

  it("is death when the attempt at the time to give up fails", () => {
    const times = { nowMs: giveUpAtMs, giveUpAtMs };
    const decision = decide(failure("network"), 300, times, () => 0.5);
    expect(decision).toEqual({ kind: "dead", reason: "expired" });
  });
});
