import { setImmediate as settle } from "node:timers/promises";
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { eu, other, startLimits, us } from "./support/start-limits.ts";

describe("the limit of a key", () => {
  it("lets no more calls leave in any window than it allows, whenever they come", async () => {
    const limit = fc.record({
      requests: fc.integer({ min: 1, max: 5 }),
      perMs: fc.integer({ min: 10, max: 2_000 }),
    });
    const arrivals = fc.array(
      fc.record({ afterMs: fc.integer({ min: 0, max: 700 }), region: fc.constantFrom(us, eu) }),
      { minLength: 1, maxLength: 30 },
    );
    await fc.assert(
      fc.asyncProperty(limit, arrivals, async ({ requests, perMs }, calls) => {
        const { admit, advance, granted } = startLimits({ requests, perMs });
        for (const [index, { afterMs, region }] of calls.entries()) {
          await advance(afterMs);
          admit(region, String(index));
        }
        await advance(calls.length * perMs * 1.1);
        const times = granted().map(([, atMs]) => Number(atMs));
        expect(times.length).toBe(calls.length);
        const windows = times.slice(requests).map((atMs, index) => atMs - (times[index] ?? 0));
        expect(Math.min(...windows, Number.POSITIVE_INFINITY)).toBeGreaterThan(perMs);
      }),
      { numRuns: 200 },
    );
  });

  it("is shared by its regions and not by other keys", async () => {
    const { admit, advance, granted } = startLimits({ requests: 1, perMs: 1_000 });
    admit(us, "us");
    admit(eu, "eu");
    admit(other, "other key");
    await settle();
    expect(granted()).toEqual([
      ["us", 0],
      ["other key", 0],
    ]);
    await advance(1_100);
    expect(granted()[2]).toEqual(["eu", 1_050]);
  });

  it("refuses at once a call that would come too late, and takes no token for it", async () => {
    const { admit, advance, log } = startLimits({ requests: 1, perMs: 1_000 });
    admit(us, "first");
    admit(us, "too late", 1_000);
    admit(us, "second", 1_100);
    await settle();
    expect(log.map(({ name, admission }) => [name, admission])).toEqual([
      ["first", "granted"],
      ["too late", "too_late"],
    ]);
    await advance(1_100);
    expect(log[2]).toEqual({ name: "second", admission: "granted", atMs: 1_050 });
  });
});

describe("a call that opens its connection first", () => {
  it("keeps those behind it waiting a period from when it is sent", async () => {
    const { admit, admitOpening, opening, advance, granted } = startLimits();
    for (const name of ["a", "b"]) admitOpening(us, name);
    for (const name of ["c", "d", "e"]) admit(us, name);
    await advance(300);
    opening.get("b")?.sent();
    await advance(100);
    opening.get("a")?.sent();
    await advance(3_000);
    expect(granted()).toEqual([
      ["a", 0],
      ["b", 0],
      ["c", 1_350],
      ["d", 1_450],
      ["e", 2_400],
    ]);
  });

  it("holds up the key's other regions for three periods at most where it never ends", async () => {
    const { admit, admitOpening, advance, granted } = startLimits({ requests: 1, perMs: 1_000 });
    admitOpening(us, "hangs");
    admit(eu, "first");
    admit(eu, "second");
    await advance(6_000);
    expect(granted().slice(1)).toEqual([
      ["first", 3_050],
      ["second", 4_100],
    ]);
  });
});

describe("a pause", () => {
  it("holds back the key's calls in that region, and no others", async () => {
    const { admit, advance, pause, granted } = startLimits();
    pause(us, 5_000);
    admit(us, "paused");
    admit(eu, "other region");
    admit(eu, "other region again");
    admit(other, "other key");
    await advance(0);
    expect(granted()).toEqual([
      ["other region", 0],
      ["other region again", 0],
      ["other key", 0],
    ]);
    await advance(5_000);
    expect(granted()[3]).toEqual(["paused", 5_000]);
  });

  it("lets those whom it held back leave no faster than the limit", async () => {
    const { admit, advance, pause, granted } = startLimits({ requests: 2, perMs: 1_000 });
    pause(us, 3_000);
    for (const name of ["a", "b", "c", "d"]) admit(us, name);
    await advance(6_000);
    expect(granted()).toEqual([
      ["a", 3_000],
      ["b", 3_000],
      ["c", 4_050],
      ["d", 4_050],
    ]);
  });
});

it("stopping ends the waits at once and leaves no timer", async () => {
  const { clock, admit, pause, stop, log } = startLimits({ requests: 1, perMs: 1_000 });
  admit(us, "first");
  admit(us, "waits for a token");
  pause(eu, 60_000);
  admit(eu, "waits for a pause to end");
  await settle();
  stop.abort();
  await settle();
  admit(us, "comes after");
  await settle();
  expect(log.map(({ admission }) => admission)).toEqual([
    "granted",
    "stopped",
    "stopped",
    "stopped",
  ]);
  expect(clock.armed).toBe(0);
});

it("says when the next call may leave, after the calls before and a pause", async () => {
  const { limits, clock, pause } = startLimits({ requests: 1, perMs: 1_000 });
  const nowMs = clock.now().monotonicMs;
  expect(limits.nextFreeMs(us)).toBe(nowMs);
  limits.admitNow(us)?.sent();
  expect(limits.admitNow(us)).toBeNull();
  expect(limits.nextFreeMs(eu)).toBe(nowMs + 1_050);
  pause(us, 5_000);
  expect([limits.nextFreeMs(us), limits.nextFreeMs(eu)]).toEqual([nowMs + 5_000, nowMs + 1_050]);
});
