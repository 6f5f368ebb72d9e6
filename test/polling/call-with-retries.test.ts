import { setImmediate as settle } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { failureReasons } from "../../src/fleet/model.ts";
import type { FailureReason } from "../../src/fleet/model.ts";
import { createRetryBudget } from "../../src/lib/retry.ts";
import { callWithRetries } from "../../src/polling/call-with-retries.ts";
import { KeyLimits } from "../../src/polling/key-limits.ts";
import type { CallFailure } from "../../src/service/failure.ts";
import { createFakeClock } from "../support/fake-clock.ts";
import { research } from "../support/fleet.ts";
import { failed } from "./support/start-polling.ts";

const ok = { kind: "ok" } as const;
/** It never answers. */
const hangs = { kind: "hangs" } as const;

type Answer = typeof ok | typeof hangs | CallFailure;

/** Calls of a service that gives these answers and then succeeds. By default ten retries are saved up. */
function start(answers: readonly Answer[], { random = 0.5, share = 1 } = {}) {
  const clock = createFakeClock();
  const startedMs = clock.now().monotonicMs;
  const now = (): number => clock.now().monotonicMs - startedMs;
  const sent: number[] = [];
  const stop = new AbortController();
  const limits = new KeyLimits(clock, { requests: 100, perMs: 1_000 });
  const budget = createRetryBudget(share);
  for (let saved = 0; saved < 10; saved += 1) budget.requestSent();
  const deps = { clock, random: () => random, limits, budget };
  const makeCall = (deadlineMs: number) =>
    callWithRetries(
      deps,
      research,
      { deadlineMs: startedMs + deadlineMs, signal: stop.signal },
      ({ signal }) => {
        const answer = answers[sent.length] ?? ok;
        sent.push(now());
        if (answer.kind !== "hangs") return Promise.resolve(answer);
        return new Promise<typeof ok | CallFailure>((resolve) => {
          signal.addEventListener("abort", () => resolve(failed("network")), { once: true });
        });
      },
    );
  /** Lets time pass until a call has ended. */
  const call = async (deadlineMs = 30_000) => {
    const ended = new AbortController();
    const calling = makeCall(deadlineMs).finally(() => ended.abort());
    for (await settle(); !ended.signal.aborted; await settle()) clock.advance(10);
    return calling;
  };
  return { clock, makeCall, sent, stop, call, now };
}

describe("which failures are tried again", () => {
  const table: Record<FailureReason, boolean> = {
    timeout: true,
    network: true,
    rate_limited: true,
    server_error: true,
    auth: false,
    http_error: false,
    invalid_body: false,
    too_large: false,
  };

  it.each(failureReasons)("%s", async (reason) => {
    const { call, sent } = start([failed(reason)]);
    expect(await call()).toEqual(table[reason] ? ok : failed(reason));
    expect(sent).toHaveLength(table[reason] ? 2 : 1);
  });
});

describe("retries", () => {
  const down = Array.from({ length: 99 }, () => failed("server_error"));

  it("wait for a random part of a time that doubles", async () => {
    const { call, sent } = start(down.slice(0, 3), { random: 0.8 });
    await call(60_000);
    expect(sent).toEqual([0, 400, 1_200, 2_800]);
  });

  it("are a tenth of all requests, when that is their budget", async () => {
    const { call, sent, now } = start(down, { share: 0.1 });
    for (let calls = 0; calls < 20; calls += 1) await call(now() + 30_000);
    // One was saved up.
    expect(sent).toHaveLength(20 + 1 + 2);
  });

  it("end before the next poll even when they hang, and the call ends as the failure before", async () => {
    const { call, sent, now, clock } = start([failed("server_error"), hangs]);
    expect(await call(10_000)).toEqual(failed("server_error"));
    expect([sent.length, clock.armed]).toEqual([2, 0]);
    expect(now()).toBeLessThan(10_000);
  });
});

describe("Retry-After", () => {
  it("is waited out in full before a retry within the poll", async () => {
    const { call, sent, clock } = start([failed("rate_limited", 7_000)]);
    expect(await call()).toEqual(ok);
    expect([sent, clock.armed]).toEqual([[0, 7_000], 0]);
  });

  it("beyond the next poll: nothing is sent until it has passed", async () => {
    const { call, sent, clock, now } = start([failed("server_error", 70_000)]);
    const outcomes: string[] = [];
    for (const pollMs of [0, 30_000, 60_000, 90_000]) {
      clock.advance(pollMs - now());
      outcomes.push((await call(pollMs + 30_000)).kind);
    }
    expect(outcomes).toEqual(["failed", "not_sent", "ok", "ok"]);
    expect(sent).toEqual([0, 70_000, 90_000]);
  });
});

it.each<readonly [what: string, answers: readonly Answer[]]>([
  ["a call", [hangs]],
  ["the wait for a retry", [failed("network", 60_000)]],
  ["a retry", [failed("network"), hangs]],
])("stopping ends %s at once and leaves no timer", async (_, answers) => {
  const { makeCall, clock, stop, sent } = start(answers);
  const poll = makeCall(300_000);
  await settle();
  clock.advance(1_000);
  await settle();
  stop.abort();
  expect(await poll).toEqual({ kind: "stopped" });
  expect([sent.length, clock.armed]).toEqual([answers.length, 0]);
});
