import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { failed } from "../../src/notify/receiver.ts";
import type { AttemptFailureReason } from "../../src/notify/receiver.ts";
import { backoffMs, decide } from "../../src/notify/retry.ts";
import { seededRandom } from "../../src/lib/random.ts";
import { openDelivery } from "./support/delivery.ts";
import { fire } from "./support/items.ts";
import { hang, startReceiverServer, status } from "./support/receiver-server.ts";

const nowMs = 1_000_000;
const hourMs = 3_600_000;
const giveUpAfterMs = 24 * hourMs;
const giveUpAtMs = nowMs + giveUpAfterMs;
const failuresArbitrary = fc.integer({ min: 1, max: 1_000 });
const drawArbitrary = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true });

describe("the time before a retry", () => {
  it("is anything from a tenth of a second to a ceiling that doubles up to five minutes", () => {
    fc.assert(
      fc.property(failuresArbitrary, drawArbitrary, (failures, draw) => {
        const ceilingMs = Math.min(300_000, 1_000 * 2 ** failures);
        expect(backoffMs(failures, () => draw)).toBeCloseTo(Math.max(100, draw * ceilingMs), 3);
      }),
    );
  });

  it.each([
    [1, 1_000],
    [2, 2_000],
    [3, 4_000],
    [50, 150_000],
  ])("after %i failures is %i ms on average", (failures, meanMs) => {
    const random = seededRandom(1);
    const waits = Array.from({ length: 4_000 }, () => backoffMs(failures, random));
    const mean = waits.reduce((sum, wait) => sum + wait, 0) / waits.length;
    expect(mean / meanMs).toBeCloseTo(1, 1);
  });

  it("is the longer of the backoff and Retry-After, up to the time to give up", () => {
    const retryAfterArbitrary = fc.option(fc.integer({ min: 0, max: 2 * giveUpAfterMs }));
    const ageArbitrary = fc.integer({ min: 0, max: giveUpAfterMs - 1 });
    fc.assert(
      fc.property(
        failuresArbitrary,
        drawArbitrary,
        retryAfterArbitrary,
        ageArbitrary,
        (failures, draw, retryAfterMs, ageMs) => {
          const random = (): number => draw;
          const times = { nowMs: nowMs + ageMs, giveUpAtMs };
          const failure = failed("rate_limited", "", retryAfterMs);
          const waitMs = Math.max(backoffMs(failures, random), retryAfterMs ?? 0);
          const nextAttemptAtMs = Math.round(Math.min(times.nowMs + waitMs, giveUpAtMs));
          expect(decide(failure, failures, times, random)).toEqual({
            kind: "retry",
            nextAttemptAtMs,
          });
        },
      ),
    );
  });
});

describe("a failed attempt", () => {
  it.each<[AttemptFailureReason, "retry" | "dead"]>([
    ["timeout", "retry"],
    ["network", "retry"],
    ["rate_limited", "retry"],
    ["server_error", "retry"],
    ["denied", "retry"],
    ["rejected", "dead"],
    ["gone", "dead"],
    ["redirect", "dead"],
  ])("for the reason %s leads to: %s", (reason, kind) => {
    expect(decide(failed(reason, ""), 1, { nowMs, giveUpAtMs }, () => 0.5)).toEqual(
      kind === "dead" ? { kind, reason } : { kind, nextAttemptAtMs: nowMs + 1_000 },
    );
  });

  it("is not repeated when it is final", async () => {
    const server = await startReceiverServer(status(400));
    const { notifier, clock, store, insert, observed } = openDelivery(server);
    await insert(fire("a"));
    await notifier.runOnce();
    clock.advance(hourMs);
    await notifier.runOnce();
    expect(await store.states()).toEqual(["dead"]);
    expect(observed).toEqual(["failed oncall rejected", "dead oncall rejected"]);
    expect(server.requests).toHaveLength(1);
  });

  it("is a time-out when the receiver does not answer within 15 seconds", async () => {
    const server = await startReceiverServer(hang);
    const { notifier, clock, store, insert, observed } = openDelivery(server);
    await insert(fire("a"));
    const run = notifier.runOnce();
    await server.received(1);
    clock.advance(14_999);
    expect(observed).toEqual([]);
    clock.advance(1);
    await run;
    expect(observed).toEqual(["failed oncall timeout"]);
    expect(await store.states()).toEqual(["pending"]);
    expect(clock.armed).toBe(0);
  });

  it("is repeated under the same id, without a call from outside", async () => {
    const server = await startReceiverServer(status(500));
    const { notifier, clock, store, insert } = openDelivery(server);
    notifier.start();
    await insert(fire("a"));
    notifier.wake();
    await server.received(1);
    await notifier.runOnce();
    server.answerWith(status(204));
    clock.advance(2_000);
    await server.received(2);
    await notifier.stop({ graceMs: 5_000 });
    expect(new Set(server.ids()).size).toBe(1);
    expect(server.ids()[0]).toMatch(/^msg_[\w-]+$/);
    expect(await store.states()).toEqual(["delivered"]);
    expect(clock.armed).toBe(0);
  });

  it.each<[string, Record<string, string>, readonly number[]]>([
    ["without Retry-After", {}, [0, 1, 3, 7, 15]],
    ["with a Retry-After shorter than the backoff", { "retry-after": "1" }, [0, 1, 3, 7, 15]],
    ["with a Retry-After between them", { "retry-after": "3" }, [0, 3, 6, 10, 18]],
  ])("is repeated after 1, 2, 4 and 8 s on average %s", async (_, headers, seconds) => {
    const server = await startReceiverServer(status(503, headers));
    const { notifier, clock, insert } = openDelivery(server, { random: () => 0.5 });
    await insert(fire("a"));
    const attemptedAt: number[] = [];
    for (let second = 0; second <= 20; second += 1) {
      const { length } = server.requests;
      await notifier.runOnce();
      if (server.requests.length > length) attemptedAt.push(second);
      clock.advance(1_000);
    }
    expect(attemptedAt).toEqual(seconds);
  });

  it("is logged once for a receiver that is down, and again after it had recovered", async () => {
    const server = await startReceiverServer(status(503));
    const { notifier, clock, insert, logged } = openDelivery(server);
    const runs = async (count: number): Promise<void> => {
      for (let run = 0; run < count; run++) {
        await notifier.runOnce();
        clock.advance(300_000);
      }
    };
    await insert(fire("a"), fire("b"));
    await runs(5);
    expect(logged).toEqual(["notification.retry oncall"]);
    server.answerWith(status(200));
    await runs(1);
    server.answerWith(status(503));
    await insert(fire("c"));
    await runs(2);
    expect(logged.filter((line) => line === "notification.retry oncall")).toHaveLength(2);
  });

  it.each([
    ["24 hours", giveUpAfterMs, 24],
    ["its own time where it has one", 2 * hourMs, 2],
  ])("is the last after %s: the notification expired", async (_, ownMs, hours) => {
    const server = await startReceiverServer(status(503));
    const settings = { giveUpAfterMs: ownMs };
    const { notifier, clock, store, insert, observed } = openDelivery(server, { settings });
    await insert(fire("a"));
    for (let hour = 0; hour < hours; hour++) {
      await notifier.runOnce();
      clock.advance(hourMs - 1);
      await notifier.runOnce();
      expect(await store.states()).toEqual(["pending"]);
      clock.advance(1);
    }
    await notifier.runOnce();
    expect(await store.states()).toEqual(["dead"]);
    expect(observed.at(-1)).toBe("dead oncall expired");
  });
});
