import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { failed, type AttemptFailureReason } from "../../src/notify/receiver.ts";
import { afterFailure, backoffMs } from "../../src/notify/retry.ts";
import { openDelivery } from "./support/delivery.ts";
import { fire } from "./support/items.ts";
import { hang, startReceiverServer, status } from "./support/receiver-server.ts";

const hourMs = 3_600_000;
const nowMs = 1_000_000;
const giveUpAtMs = nowMs + 24 * hourMs;

it("the time before a retry is the longer of backoff and Retry-After, up to the time to give up", () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 1_000 }),
      fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }),
      fc.option(fc.integer({ min: 0, max: 48 * hourMs })),
      fc.integer({ min: 0, max: 24 * hourMs - 1 }),
      (failures, draw, retryAfterMs, ageMs) => {
        const ceilingMs = Math.min(300_000, 1_000 * 2 ** failures);
        const backoff = backoffMs(failures, () => draw);
        expect(backoff).toBeCloseTo(Math.max(100, draw * ceilingMs), 3);
        const times = { nowMs: nowMs + ageMs, giveUpAtMs };
        const failure = failed("rate_limited", "", retryAfterMs);
        const waitMs = Math.max(backoff, retryAfterMs ?? 0);
        const nextAttemptAtMs = Math.round(Math.min(times.nowMs + waitMs, giveUpAtMs));
        const retry = { kind: "retry", nextAttemptAtMs };
        expect(afterFailure(failure, failures, times, () => draw)).toEqual(retry);
      },
    ),
  );
});

it("a failed attempt is retried unless the receiver will never accept the notification", () => {
  const outcomeOf = (reason: AttemptFailureReason) =>
    afterFailure(failed(reason, ""), 1, { nowMs, giveUpAtMs }, () => 0.5);
  for (const reason of ["timeout", "network", "rate_limited", "server_error", "denied"] as const) {
    expect(outcomeOf(reason)).toEqual({ kind: "retry", nextAttemptAtMs: nowMs + 1_000 });
  }
  for (const reason of ["rejected", "gone", "redirect"] as const) {
    expect(outcomeOf(reason)).toEqual({ kind: "dead", reason });
  }
});

describe("a failed attempt", () => {
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
    expect([await store.states(), clock.armed]).toEqual([["pending"], 0]);
  });

  it("is repeated by itself, under the same id, after 1, 2, 4 and 8 s on average", async () => {
    const server = await startReceiverServer(status(503));
    const { notifier, clock, store, insert } = openDelivery(server, { random: () => 0.5 });
    await insert(fire("a"));
    notifier.start();
    await notifier.runOnce();
    const attemptedAt = [0];
    for (let second = 1; second <= 20; second += 1) {
      const { length } = server.requests;
      if (second === 15) server.answerWith(status(204));
      clock.advance(1_000);
      await notifier.runOnce();
      if (server.requests.length > length) attemptedAt.push(second);
    }
    await notifier.stop({ graceMs: 5_000 });
    expect(attemptedAt).toEqual([0, 1, 3, 7, 15]);
    expect([new Set(server.ids()).size, await store.states()]).toEqual([1, ["delivered"]]);
    expect(clock.armed).toBe(0);
  });

  it("is logged once for a receiver that is down, and again after it had recovered", async () => {
    const server = await startReceiverServer(status(503));
    const { pass, insert, logged } = openDelivery(server);
    await insert(fire("a"), fire("b"));
    for (let run = 0; run < 5; run++) await pass(300_000);
    expect(logged).toEqual(["notification.retry oncall"]);
    server.answerWith(status(200));
    await pass(300_000);
    server.answerWith(status(503));
    await insert(fire("c"));
    for (let run = 0; run < 2; run++) await pass(300_000);
    expect(logged.filter((line) => line === "notification.retry oncall")).toHaveLength(2);
  });

  it("is the last at the end of `give_up_after`: the notification expired", async () => {
    const server = await startReceiverServer(status(503));
    const settings = { giveUpAfterMs: 2 * hourMs };
    const { pass, store, insert, observed } = openDelivery(server, { settings });
    await insert(fire("a"));
    await pass(0);
    await pass(2 * hourMs - 1);
    expect(await store.states()).toEqual(["pending"]);
    await pass(1);
    expect(await store.states()).toEqual(["dead"]);
    expect(observed.at(-1)).toBe("dead oncall expired");
  });
});
