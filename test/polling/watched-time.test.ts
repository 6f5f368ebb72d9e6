import { describe, expect, it } from "vitest";
import { listing, research } from "../support/fleet.ts";
import { listed, minute, second, startPolling } from "./support/start-polling.ts";
import type { Answer } from "./support/start-polling.ts";

describe("the time between two turns", () => {
  const seen = (): Answer => listed(listing({ a: "idle" }));

  it.each([
    [62, 62 * second],
    [64, 0],
  ])("of which there were none for %d s counts as watched for %d ms", async (later, watchedMs) => {
    const { clock, turn, watched } = startPolling(seen);
    await turn();
    clock.advance(30 * second);
    await turn();
    clock.holdUp(later * second);
    await turn();
    const observed = { ms: 30 * second + watchedMs, polls: 3 };
    expect(watched.state.progress).toMatchObject({ observed, failuresInARow: 0 });
  });

  it("counts as watched where the schedule pauses right after the start", async () => {
    const { clock, turn, watched } = startPolling(seen, 13 * 60 * minute);
    await turn();
    clock.advance(13 * 60 * minute + 20 * second);
    await turn();
    clock.holdUp(64 * second);
    await turn();
    const observed = { ms: 13 * 60 * minute + 20 * second, polls: 3 };
    expect(watched.state.progress).toMatchObject({ observed });
  });

  it("counts as watched where the earlier one was all that was left of a round", async () => {
    const { clock, turn, watched } = startPolling(seen);
    await turn();
    clock.holdUp(59 * second);
    await turn(research, second);
    clock.advance(31 * second);
    await turn();
    expect(watched.state.progress).toMatchObject({ observed: { ms: 90 * second, polls: 3 } });
  });
});
