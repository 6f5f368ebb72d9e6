import { describe, expect, it } from "vitest";
import { createRetryBudget } from "../../src/core/retry.ts";
import { admitCalls } from "../../src/polling/admitted-call.ts";
import type { Clock } from "../../src/platform/clock.ts";
import { createKeyLimits } from "../../src/polling/key-limits.ts";
import { createFakeClock } from "../support/fake-clock.ts";

const target = { region: "us", key: "research" };

/** A call that was let through, of a key that may be used so often in a second. */
function start(requests: number, { retries = 1 } = {}) {
  const clock = createFakeClock();
  const startedMs = clock.now().monotonicMs;
  const limits = createKeyLimits(clock, { requests, perMs: 1_000 });
  const budget = createRetryBudget(1);
  for (let saved = 0; saved < retries; saved += 1) budget.requestSent();
  const granted = limits.admitNow(target);
  if (!granted) throw new Error("a key that was not used may be used");
  const nextFreeMs = (): number => limits.nextFreeMs(target) - startedMs;
  return { clock, limits, budget, granted, nextFreeMs };
}

describe("a request that is sent once more", () => {
  it("is one more within the key's limit, from when it is sent, on top of the one before", () => {
    const { clock, limits, budget, granted, nextFreeMs } = start(2);
    const call = admitCalls(limits, budget)(target, granted);
    call.onSent();
    clock.advance(100);
    expect(call.mayResend()).toBe(true);
    clock.advance(400);
    call.onSent();
    call.ended();
    expect(nextFreeMs()).toBe(1_050);
    clock.advance(550);
    limits.admitNow(target)?.sent();
    expect(nextFreeMs()).toBe(1_550);
  });

  it("but never really was, neither time, leaves no token behind that is not given back", () => {
    const { clock, limits, budget, granted, nextFreeMs } = start(2);
    const call = admitCalls(limits, budget)(target, granted);
    expect(call.mayResend()).toBe(true);
    clock.advance(400);
    call.ended();
    expect(nextFreeMs()).toBe(1_050);
    clock.advance(650);
    expect([limits.admitNow(target), limits.admitNow(target)]).not.toContain(null);
  });

  it.each([
    ["the key has no token", 1, 1],
    ["the budget has no retry", 2, 0],
  ])("must not be where %s", (_why, requests, retries) => {
    const { limits, budget, granted } = start(requests, { retries });
    const call = admitCalls(limits, budget)(target, granted);
    call.onSent();
    expect(call.mayResend()).toBe(false);
  });

  it("must not be without a budget, and takes no token then", () => {
    const { limits, granted } = start(2);
    const call = admitCalls(limits, undefined)(target, granted);
    call.onSent();
    expect(call.mayResend()).toBe(false);
    expect(limits.admitNow(target)).not.toBeNull();
  });
});

it("has a free token for a call that cannot wait, although time passes while it looks", () => {
  let nowMs = 0;
  const clock: Clock = {
    now: () => ({ utcMs: 0, monotonicMs: (nowMs += 0.001) }),
    setTimer: () => () => {},
  };
  const limits = createKeyLimits(clock, { requests: 1, perMs: 1_000 });
  expect(limits.admitNow(target)).not.toBeNull();
  expect(limits.admitNow(target)).toBeNull();
});
