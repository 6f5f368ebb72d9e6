import { setImmediate as settle } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import type { Target } from "../../src/fleet/model.ts";
import type { Clock } from "../../src/lib/clock.ts";
import { createRetryBudget } from "../../src/lib/retry.ts";
import { KeyLimits, mayResend } from "../../src/polling/key-limits.ts";
import type { Granted } from "../../src/polling/key-limits.ts";
import { createFakeClock } from "../support/fake-clock.ts";

const us: Target = { region: "us", key: "research" };
const eu: Target = { region: "eu", key: "research" };
const other: Target = { region: "us", key: "other" };

interface How {
  readonly withinMs?: number;
  /** Its connection is opened once it may leave; `opening` has it until then. */
  readonly isOpening?: boolean;
  readonly order?: "one_by_one";
}

/** The limit of a key, and the calls that ask it. Times are since the start. */
function start(requests = 1) {
  const clock = createFakeClock();
  const startedMs = clock.now().monotonicMs;
  let dueMs: readonly number[] = [];
  const setTimer: Clock["setTimer"] = (delayMs, call) => {
    dueMs = [...dueMs, clock.now().monotonicMs + delayMs];
    return clock.setTimer(delayMs, call);
  };
  const limits = new KeyLimits({ now: () => clock.now(), setTimer }, { requests, perMs: 1_000 });
  const log: { name: string; admission: string; atMs: number }[] = [];
  const stop = new AbortController();
  const opening = new Map<string, Granted>();
  const ask = async (target: Target, name: string, how: How): Promise<void> => {
    const deadlineMs = startedMs + (how.withinMs ?? 60_000);
    const admission = await limits.admit(target, deadlineMs, stop.signal, how.order);
    log.push({ name, admission: admission.kind, atMs: clock.now().monotonicMs - startedMs });
    if (admission.kind !== "granted") return;
    if (how.isOpening) opening.set(name, admission);
    else admission.sent();
  };
  return {
    clock,
    limits,
    log,
    stop,
    opening,
    admit: (target: Target, name: string, how: How = {}): void => void ask(target, name, how),
    /** Stops at every timer on the way, so that what it leads to happens at its moment. */
    advance: async (ms: number): Promise<void> => {
      const untilMs = clock.now().monotonicMs + ms;
      for (;;) {
        await settle();
        const nowMs = clock.now().monotonicMs;
        dueMs = dueMs.filter((due) => due > nowMs);
        clock.advance(Math.min(untilMs, ...dueMs) - nowMs);
        if (clock.now().monotonicMs >= untilMs) return settle();
      }
    },
    pause: (target: Target, untilMs: number): void => limits.pause(target, startedMs + untilMs),
    granted: () =>
      log
        .filter(({ admission }) => admission === "granted")
        .map(({ name, atMs }) => `${name} ${atMs}`),
    nextFreeMs: (target: Target): number => limits.nextFreeMs(target) - startedMs,
  };
}

describe("the limit of a key", () => {
  it("is shared by its regions and not by other keys", async () => {
    const { admit, advance, granted } = start();
    admit(us, "us");
    admit(eu, "eu");
    admit(other, "other key");
    await advance(1_100);
    expect(granted()).toEqual(["us 0", "other key 0", "eu 1050"]);
  });

  it("refuses at once a call that would come too late, and takes no token for it", async () => {
    const { admit, advance, log } = start();
    admit(us, "first");
    admit(us, "late", { withinMs: 1_000 });
    admit(us, "second", { withinMs: 1_100 });
    await advance(1_100);
    expect(log).toEqual([
      { name: "first", admission: "granted", atMs: 0 },
      { name: "late", admission: "too_late", atMs: 0 },
      { name: "second", admission: "granted", atMs: 1_050 },
    ]);
  });

  it("says when the next call may leave, after the calls before and a pause", () => {
    const { limits, pause, nextFreeMs } = start();
    expect(nextFreeMs(us)).toBe(0);
    limits.admitNow(us)?.sent();
    expect(limits.admitNow(us)).toBeNull();
    expect(nextFreeMs(eu)).toBe(1_050);
    pause(us, 5_000);
    expect([nextFreeMs(us), nextFreeMs(eu)]).toEqual([5_000, 1_050]);
  });

  it("has a free token for a call that cannot wait, although time passes while it looks", () => {
    let nowMs = 0;
    const now = () => ({ utcMs: 0, monotonicMs: (nowMs += 0.001) });
    const clock: Clock = { now, setTimer: () => () => {} };
    const limits = new KeyLimits(clock, { requests: 1, perMs: 1_000 });
    expect(limits.admitNow(us)).not.toBeNull();
    expect(limits.admitNow(us)).toBeNull();
  });

  it("ends the waits at once when it is stopped, and leaves no timer", async () => {
    const { clock, admit, pause, stop, log } = start();
    admit(us, "first");
    admit(us, "waits for a token");
    pause(eu, 30_000);
    admit(eu, "waits for a pause to end");
    await settle();
    stop.abort();
    await settle();
    admit(us, "comes after");
    await settle();
    const admissions = log.map(({ admission }) => admission);
    expect(admissions).toEqual(["granted", "stopped", "stopped", "stopped"]);
    expect(clock.armed).toBe(0);
  });
});

describe("a call that opens its connection first", () => {
  it("keeps those behind it waiting a period from when it is sent", async () => {
    const { admit, opening, advance, granted } = start(2);
    for (const name of ["a", "b"]) admit(us, name, { isOpening: true });
    for (const name of ["c", "d", "e"]) admit(us, name);
    await advance(300);
    opening.get("b")?.sent();
    await advance(100);
    opening.get("a")?.sent();
    await advance(3_000);
    expect(granted()).toEqual(["a 0", "b 0", "c 1350", "d 1450", "e 2400"]);
  });

  it("holds up the key's other regions for three periods at most where it never ends", async () => {
    const { admit, advance, granted } = start();
    admit(us, "hangs", { isOpening: true });
    admit(eu, "first");
    admit(eu, "second");
    await advance(6_000);
    expect(granted()).toEqual(["hangs 0", "first 3050", "second 4100"]);
  });

  it("lets the next one leave as soon as it ends without being sent, a period after it left", async () => {
    const { admit, opening, advance, granted } = start();
    admit(us, "fails", { isOpening: true });
    admit(eu, "next");
    await advance(1_300);
    opening.get("fails")?.ended();
    await advance(6_000);
    expect(granted()).toEqual(["fails 0", "next 1300"]);
  });
});

it("a pause holds back the key's calls in that region, which then leave no faster than the limit", async () => {
  const { admit, advance, pause, granted } = start(2);
  pause(us, 5_000);
  for (const name of ["a", "b", "c", "d"]) admit(us, name);
  admit(eu, "other region");
  admit(other, "other key");
  await advance(8_000);
  expect(granted()).toEqual([
    "other region 0",
    "other key 0",
    "a 5000",
    "b 5000",
    "c 6050",
    "d 6050",
  ]);
});

it("a pause that the service demanded is not shortened by a shorter one", () => {
  const { pause, nextFreeMs } = start();
  pause(us, 60_000);
  pause(us, 1_000);
  expect(nextFreeMs(us)).toBe(60_000);
});

it("a call that waited for a token when its region was paused lets one to the key's other region go first", async () => {
  const { admit, advance, pause, granted } = start();
  admit(us, "first");
  admit(us, "second");
  await advance(500);
  pause(us, 5_000);
  admit(eu, "other region");
  await advance(8_000);
  expect(granted()).toEqual(["first 0", "other region 1050", "second 5000"]);
});

describe("calls of a target that are admitted one by one", () => {
  const order = "one_by_one";

  it("do not keep another call of the key waiting for more than one of them in each region", async () => {
    const { admit, advance, granted } = start();
    for (const number of [1, 2, 3]) admit(us, `us${number}`, { order });
    for (const number of [1, 2]) admit(eu, `eu${number}`, { order });
    await advance(100);
    admit(us, "poll");
    await advance(6_000);
    expect(granted().join()).toBe("us1 0,eu1 1050,us2 2100,poll 3150,eu2 4200,us3 5250");
  });

  it("give up at their own deadlines, whatever the ones before them wait for", async () => {
    const { admit, advance, pause, log, granted } = start();
    pause(us, 40_000);
    admit(us, "long", { order });
    admit(us, "short", { order, withinMs: 5_000 });
    admit(us, "behind", { order });
    await advance(6_000);
    expect(log).toEqual([{ name: "short", admission: "too_late", atMs: 5_000 }]);
    admit(us, "poll");
    await advance(40_000);
    expect(granted()).toEqual(["long 40000", "poll 41050", "behind 42100"]);
  });
});

describe("a request that is sent again", () => {
  /** A call that was let through and sent, and a budget of retries. */
  function startCall(requests: number, retries: number) {
    const started = start(requests);
    const budget = createRetryBudget(1);
    for (let saved = 0; saved < retries; saved += 1) budget.requestSent();
    const granted = started.limits.admitNow(us);
    if (!granted) throw new Error("a key that was not used may be used");
    granted.sent();
    return { ...started, budget, granted };
  }

  it("is one more within the key's limit, from when it is sent, on top of the one before", () => {
    const { clock, limits, budget, granted, nextFreeMs } = startCall(2, 1);
    clock.advance(100);
    expect(mayResend(granted, budget)).toBe(true);
    clock.advance(400);
    granted.sent();
    granted.ended();
    expect(nextFreeMs(us)).toBe(1_050);
    clock.advance(550);
    limits.admitNow(us)?.sent();
    expect(nextFreeMs(us)).toBe(1_550);
  });

  it.each([
    ["the key has no token", 1, 1],
    ["the budget has no retry", 2, 0],
  ])("must not be where %s", (_why, requests, retries) => {
    const { budget, granted } = startCall(requests, retries);
    expect(mayResend(granted, budget)).toBe(false);
  });
});
