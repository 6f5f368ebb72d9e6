import { describe, expect, it } from "vitest";
import { listing } from "../support/fleet.ts";
import { listed, minute, second, startPolling } from "./support/start-polling.ts";
import type { Answer } from "./support/start-polling.ts";

describe("the time between two polls", () => {
  const seen = (): Answer => listed(listing({ a: "idle" }));

  it.each([
    [62, 62 * second],
    [64, 0],
  ])("of which none came for %d s counts as observed for %d ms", async (later, observedMs) => {
    const { clock, poll, watched } = startPolling(seen);
    await poll();
    clock.advance(30 * second);
    await poll();
    clock.holdUp(later * second);
    await poll();
    const observed = { ms: 30 * second + observedMs, polls: 3 };
    expect(watched.state.progress).toMatchObject({ observed, failuresInARow: 0 });
  });

  it("counts as observed where the schedule pauses right after the start", async () => {
    // The clock starts at 09:30 UTC.
    const expression = "0,30 * 22 * * *";
    const { clock, poll, watched } = startPolling(seen, {
      kind: "cron",
      expression,
      timeZone: "UTC",
    });
    await poll();
    const pauseMs = 12.5 * 60 * minute + 20 * second;
    clock.advance(pauseMs);
    await poll();
    clock.holdUp(64 * second);
    await poll();
    expect(watched.state.progress).toMatchObject({ observed: { ms: pauseMs, polls: 3 } });
  });

  it("counts as observed where the earlier one was all that was left of a round", async () => {
    const { clock, poll, watched } = startPolling(seen);
    await poll();
    clock.holdUp(59 * second);
    await poll(second);
    clock.advance(31 * second);
    await poll();
    expect(watched.state.progress).toMatchObject({ observed: { ms: 90 * second, polls: 3 } });
  });
});
