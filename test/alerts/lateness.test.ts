import { describe, expect, it } from "vitest";
import { latenessMs, summaryAt } from "../../src/alerts/notification.ts";

const minuteMs = 60_000;
const told = { causedAtMs: 1_000_000, summary: "1 server in error in us" };
const after = (ms: number): number => told.causedAtMs + ms;

describe("a message", () => {
  it.each([
    [0, null],
    [5 * minuteMs, null],
    [5 * minuteMs + 1, 5 * minuteMs + 1],
    // The wall clock was stepped back.
    [-1, null],
  ])("sent %i ms after its cause is late by %s ms", (ms, lateMs) => {
    expect(latenessMs(told, after(ms))).toBe(lateMs);
  });

  it.each([
    [4 * minuteMs, "1 server in error in us"],
    [5.4 * minuteMs, "Late by 5m: 1 server in error in us"],
    [59.6 * minuteMs, "Late by 1h: 1 server in error in us"],
    [125 * minuteMs, "Late by 2h5m: 1 server in error in us"],
    [26 * 60 * minuteMs, "Late by 1d2h: 1 server in error in us"],
  ])("shown %i ms after its cause says %s", (ms, shown) => {
    expect(summaryAt(told, after(ms))).toBe(shown);
  });
});
