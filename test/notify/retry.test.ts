import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { AttemptFailure, AttemptFailureReason } from "../../src/notify/receiver.ts";
import { backoffMs, decide } from "../../src/notify/retry.ts";
import { seededRandom } from "../../src/platform/random.ts";
import { insertOutboxItems } from "../../src/store/outbox.ts";
import { createFakeClock } from "../support/fake-clock.ts";
import type { FakeClock } from "../support/fake-clock.ts";
import { createDelivery, webhook } from "./support/delivery.ts";
import { startReceiverServer, status } from "./support/receiver-server.ts";
import { openTestStore } from "./support/test-store.ts";
import { fire } from "./support/told.ts";

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

describe("a receiver that fails again and again", () => {
  it.each<[string, Record<string, string>, readonly number[]]>([
    ["without Retry-After", {}, [0, 1, 3, 7, 15]],
    ["with a Retry-After shorter than the back-off", { "retry-after": "1" }, [0, 1, 3, 7, 15]],
    ["with a Retry-After between them", { "retry-after": "3" }, [0, 3, 6, 10, 18]],
  ])("is tried after 1 s, then 2, 4 and 8 s in the mean %s", async (_, headers, seconds) => {
    const server = await startReceiverServer(status(503, headers));
    const store = openTestStore();
    const receivers = (c: FakeClock) => [webhook(server, c)];
    const { loop, clock } = createDelivery(store.outbox, receivers, createFakeClock(), () => 0.5);
    await insertOutboxItems(store.kysely, [fire("a")]);
    const attemptedAt: number[] = [];
    for (let second = 0; second <= 20; second += 1) {
      const { length } = server.requests;
      await loop.runOnce();
      if (server.requests.length > length) attemptedAt.push(second);
      clock.advance(1_000);
    }
    expect(attemptedAt).toEqual(seconds);
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

  it("is retried no sooner than the back-off says, however soon the receiver asks for it", () => {
    fc.assert(
      fc.property(
        failuresArbitrary,
        drawArbitrary,
        fc.option(fc.integer({ min: 0, max: 10_000 })),
        (failures, draw, retryAfterMs) => {
          const random = (): number => draw;
          const times = { nowMs, giveUpAtMs };
          const decision = decide(failure("rate_limited", retryAfterMs), failures, times, random);
          const waitMs = Math.max(backoffMs(failures, random), retryAfterMs ?? 0);
          expect(decision).toEqual({
            kind: "retry",
            nextAttemptAtMs: Math.round(nowMs + waitMs),
          });
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
