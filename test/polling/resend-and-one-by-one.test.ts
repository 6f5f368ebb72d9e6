import { describe, expect, it } from "vitest";
import { createRetryBudget } from "../../src/lib/retry.ts";
import type { Clock } from "../../src/lib/clock.ts";
import { createKeyLimits, mayResend } from "../../src/polling/key-limits.ts";
import { createFakeClock } from "../support/fake-clock.ts";
import { eu, startLimits, us } from "./support/start-limits.ts";

describe("calls of a target that are admitted one by one", () => {
  it("do not keep another call of the key waiting for more than one of them in each region", async () => {
    const { admit, admitProbe, advance, granted } = startLimits({ requests: 1, perMs: 1_000 });
    for (const number of [1, 2, 3, 4, 5]) admitProbe(us, `us ${number}`);
    for (const number of [1, 2, 3]) admitProbe(eu, `eu ${number}`);
    await advance(100);
    admit(us, "poll");
    await advance(12_000);
    const calls = granted();
    expect(calls.map(([name]) => name).slice(0, 4)).toEqual(["us 1", "eu 1", "us 2", "poll"]);
    expect(calls.map(([, atMs]) => atMs)).toEqual(
      [0, 1, 2, 3, 4, 5, 6, 7, 8].map((n) => n * 1_050),
    );
  });

  it("give up at their own deadlines, whatever the ones before them wait for", async () => {
    const { admit, admitProbe, advance, pause, log } = startLimits({ requests: 1, perMs: 1_000 });
    pause(us, 40_000);
    admitProbe(us, "long");
    admitProbe(us, "short", 5_000);
    admitProbe(us, "behind it");
    await advance(6_000);
    expect(log).toEqual([{ name: "short", admission: "too_late", atMs: 5_000 }]);
    admit(us, "poll");
    await advance(40_000);
    expect(log.slice(1).map(({ name, atMs }) => [name, atMs])).toEqual([
      ["long", 40_000],
      ["poll", 41_050],
      ["behind it", 42_100],
    ]);
  });
});

describe("a request that is sent again", () => {
  /** A call that was let through, and a budget of retries. */
  function startCall(requests: number, retries = 1) {
    const clock = createFakeClock();
    const startedMs = clock.now().monotonicMs;
    const limits = createKeyLimits(clock, { requests, perMs: 1_000 });
    const budget = createRetryBudget(1);
    for (let saved = 0; saved < retries; saved += 1) budget.requestSent();
    const granted = limits.admitNow(us);
    if (!granted) throw new Error("a key that was not used may be used");
    const nextFreeMs = (): number => limits.nextFreeMs(us) - startedMs;
    return { clock, limits, budget, granted, nextFreeMs };
  }

  it("is one more within the key's limit, from when it is sent, on top of the one before", () => {
    const { clock, limits, budget, granted, nextFreeMs } = startCall(2);
    granted.sent();
    clock.advance(100);
    expect(mayResend(granted, budget)).toBe(true);
    clock.advance(400);
    granted.sent();
    granted.ended();
    expect(nextFreeMs()).toBe(1_050);
    clock.advance(550);
    limits.admitNow(us)?.sent();
    expect(nextFreeMs()).toBe(1_550);
  });

  it.each([
    ["the key has no token", 1, 1],
    ["the budget has no retry", 2, 0],
  ])("must not be where %s", (_why, requests, retries) => {
    const { budget, granted } = startCall(requests, retries);
    granted.sent();
    expect(mayResend(granted, budget)).toBe(false);
  });
});

it("has a free token for a call that cannot wait, although time passes while it looks", () => {
  let nowMs = 0;
  const clock: Clock = {
    now: () => ({ utcMs: 0, monotonicMs: (nowMs += 0.001) }),
    setTimer: () => () => {},
  };
  const limits = createKeyLimits(clock, { requests: 1, perMs: 1_000 });
  expect(limits.admitNow(us)).not.toBeNull();
  expect(limits.admitNow(us)).toBeNull();
});
