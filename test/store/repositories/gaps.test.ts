import { describe, expect, it } from "vitest";
import { listing, research } from "../../support/fleet.ts";
import { openRecorded, recordingStartMs } from "../support/recorded-targets.ts";
import { engines } from "../support/engines.ts";

const minuteMs = 60_000;
const git = listing({ a: "idle", b: "idle" });
const down = { observed: false };

describe.each(engines)("gaps on $name", (engine) => {
  /** A target, and its gaps in minutes since its first poll. */
  async function openGaps() {
    const recorded = await openRecorded(engine);
    const target = await recorded.add(research);
    const pass = (minutes: number, more = {}): Promise<void> =>
      target.pass(minutes * minuteMs, git, more);
    const gaps = async (fromMinutes = -60, toMinutes = 1e6) => {
      const [fromMs, toMs] = [fromMinutes, toMinutes].map(
        (each) => recordingStartMs + each * minuteMs,
      );
      const opened = await recorded.store.occupancy.open();
      const found = await opened.gaps(research, { fromMs: fromMs ?? 0, toMs: toMs ?? 0 });
      return found.map((gap) =>
        [gap.fromMs, gap.toMs].map((ms) => (ms - recordingStartMs) / minuteMs),
      );
    };
    const poll = (minutes: number, shown: Parameters<typeof target.pass>[1]): Promise<void> =>
      target.pass(minutes * minuteMs, shown);
    return { pass, poll, gaps };
  }

  it("never overlap, though the clock was set back", async () => {
    const { pass, gaps } = await openGaps();
    await pass(0);
    await pass(10, down);
    await pass(1, { ...down, steppedMs: -8 * minuteMs });
    await pass(1);
    await pass(10, down);
    expect(await gaps()).toEqual([
      [0, 10],
      [10, 14],
    ]);
  });

  it("last from the last complete listing to the next one, and until the last poll if there was none", async () => {
    const { pass, poll, gaps } = await openGaps();
    await pass(0);
    await pass(10);
    for (let times = 0; times < 3; times += 1) await poll(5, "failed");
    expect(await gaps()).toEqual([[10, 25]]);
    await poll(5, { ...git, complete: false });
    await pass(5);
    await pass(5);
    expect(await gaps()).toEqual([[10, 35]]);
  });

  it("are none where one ends at the moment of its beginning, as while a clock that was set back catches up", async () => {
    const { pass, poll, gaps } = await openGaps();
    await poll(0, { ...git, complete: false });
    await pass(0);
    await pass(5);
    expect(await gaps()).toEqual([]);
  });

  it("are clipped to the range, and all given, however many there are", async () => {
    const { pass, gaps } = await openGaps();
    await pass(0);
    for (let poll = 0; poll < 1_100; poll++) await pass(10, { observed: poll % 2 === 1 });
    expect(await gaps()).toHaveLength(550);
    expect(await gaps(5, 45)).toEqual([
      [5, 10],
      [20, 30],
      [40, 45],
    ]);
    expect(await gaps(10, 20)).toEqual([]);
    expect(await gaps(9, 5)).toEqual([]);
  });
});
