import { describe, expect, it } from "vitest";
import { listing } from "../support/fleet.ts";
import { failed, listed, minute, second, startPolling } from "./support/start-polling.ts";
import type { Answer } from "./support/start-polling.ts";

describe("a refused key", () => {
  /** Polls about 30 s apart until each of these answers was given, and when requests came. Seconds. */
  const play = async (refused: readonly boolean[]) => {
    let asked = 0;
    const started = startPolling(() =>
      refused[asked++] ? { ...failed("auth"), status: 403 } : listed(listing({})),
    );
    const { clock, poll, calls } = started;
    const startMs = clock.now().monotonicMs;
    const askedAt: number[] = [];
    for (let polls = 0; asked < refused.length; polls += 1) {
      const before = calls.length;
      await poll();
      if (calls.length > before) askedAt.push((clock.now().monotonicMs - startMs) / second);
      clock.advance(30 * second + 200 * (1 - (polls % 3)));
    }
    return { ...started, askedAt: askedAt.map((each) => Math.round(each)) };
  };

  it("is asked about at the next poll, then at distances that double up to five minutes", async () => {
    const { askedAt } = await play(Array.from({ length: 8 }, () => true));
    expect(askedAt).toEqual([0, 30, 90, 210, 450, 750, 1_050, 1_350]);
  });

  it("that is refused after it was accepted again is asked about at the next poll again", async () => {
    const { askedAt, lines } = await play([true, true, true, false, true, true]);
    expect(askedAt).toEqual([0, 30, 90, 210, 240, 270]);
    const refusals = lines.filter(({ event }) => event === "target.refused");
    const line = { level: "warn", region: "us", key: "research", retry_seconds: 30 };
    expect(refusals).toMatchObject([line, line]);
    expect(refusals[0]?.["msg"]).toContain("doubles up to 5 minutes");
  });

  it("keeps its target down while it is not asked, and no poll failed then", async () => {
    const { clock, poll, watched, heard } = startPolling(() => failed("auth"));
    for (let polls = 0; polls < 10; polls += 1) {
      await poll();
      clock.advance(30 * second);
    }
    expect(watched.up).toBe(false);
    expect(watched.state.progress).toMatchObject({
      failuresInARow: 4,
      lastFailure: "auth",
      attempted: { polls: 4, ms: 9 * 30 * second },
    });
    expect(heard().filter((line) => line.startsWith("polled"))).toEqual(
      Array.from({ length: 4 }, () => "polled us auth 0"),
    );
  });

  it("stays refused over a call without an answer, and no longer than until another answer", async () => {
    let answer: Answer = failed("auth");
    const { clock, poll, lines } = startPolling(() => answer);
    const pollAnswered = async (next: Answer) => {
      answer = next;
      clock.advance(5 * minute);
      await poll();
      return lines.splice(0).filter(({ event }) => event === "target.refused");
    };
    expect(await pollAnswered(failed("auth"))).toHaveLength(1);
    expect(await pollAnswered(failed("network"))).toEqual([]);
    expect(await pollAnswered(failed("auth"))).toEqual([]);
    expect(await pollAnswered({ ...failed("server_error"), status: 503 })).toEqual([]);
    expect(await pollAnswered(failed("auth"))).toHaveLength(1);
  });
});
