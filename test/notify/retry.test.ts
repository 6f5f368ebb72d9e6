import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { failed, type AttemptFailureReason } from "../../src/notify/receiver.ts";
import { backoffMs, decide } from "../../src/notify/retry.ts";
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
        expect(decide(failure, failures, times, () => draw)).toEqual(retry);
      },
    ),
  );
});

it.each<[AttemptFailureReason, "retry" | "dead"]>([
  ["timeout", "retry"],
  ["network", "retry"],
  ["rate_limited", "retry"],
  ["server_error", "retry"],
  ["denied", "retry"],
  ["rejected", "dead"],
  ["gone", "dead"],
  ["redirect", "dead"],
])("a failed attempt for the reason %s leads to: %s", (reason, kind) => {
  expect(decide(failed(reason, ""), 1, { nowMs, giveUpAtMs }, () => 0.5)).toEqual(
    kind === "dead" ? { kind, reason } : { kind, nextAttemptAtMs: nowMs + 1_000 },
  );
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
    expect([await store.states(), clock.armed]).toEqual([["delivered"], 0]);
  });

  it.each<[string, Record<string, string>, readonly number[]]>([
    ["without Retry-After", {}, [0, 1, 3, 7, 15]],
    ["with a Retry-After between them", { "retry-after": "3" }, [0, 3, 6, 10, 18]],
  ])("is repeated after 1, 2, 4 and 8 s on average %s", async (_, headers, seconds) => {
    const server = await startReceiverServer(status(503, headers));
    const { pass, insert } = openDelivery(server, { random: () => 0.5 });
    await insert(fire("a"));
    const attemptedAt: number[] = [];
    for (let second = 0; second <= 20; second += 1) {
      const { length } = server.requests;
      await pass(second === 0 ? 0 : 1_000);
      if (server.requests.length > length) attemptedAt.push(second);
    }
    expect(attemptedAt).toEqual(seconds);
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
