import { setImmediate as settle } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import type { Verdict } from "../../src/alerts/judge.ts";
import { noSuppressions } from "../../src/alerts/silence.ts";
import type { Snapshot } from "../../src/fleet/snapshot.ts";
import { countByStatus } from "../../src/fleet/tallies.ts";
import { listing } from "../support/fleet.ts";
import { changesOf } from "../support/listing.ts";
import { failed, listed, minute, second, startPolling } from "./support/start-polling.ts";
import type { Answer } from "./support/start-polling.ts";

const idle = (): Answer => listed(listing({ a: "idle" }));

describe("a poll", () => {
  it("calls, counts, commits, and shows only then", async () => {
    const { poll, watched, heard } = startPolling(idle);
    await poll();
    expect(heard()).toEqual(["polled us ok 0", "commit 1", "committed true"]);
    expect(countByStatus(watched.state.snapshot.tallies.servers)).toBe(1);
    expect(watched.polled).toBe(true);
  });

  it("is called with what was observed before, and a number that is one more after each listing", async () => {
    const { poll, calls, watched } = startPolling(idle);
    const before: Snapshot[] = [];
    for (let polls = 0; polls < 3; polls++) {
      before.push(watched.state.snapshot);
      await poll();
    }
    expect(calls.every((call, at) => call.before === before[at])).toBe(true);
    const first = calls[0]?.poll ?? 0;
    expect(calls.map((call) => call.poll - first)).toEqual([0, 1, 2]);
  });

  it("is judged once more if somebody acknowledges an incident meanwhile, and then committed", async () => {
    const { poll, world, committed } = startPolling(() => listed(listing({ a: "error" })));
    let asked = 0;
    world.suppressions = () => {
      if (++asked > 9) throw new Error("it is judged again and again");
      return { ...noSuppressions, acknowledgedBy: new Map() };
    };
    await poll();
    expect([committed.length, asked]).toEqual([1, 2]);
  });

  it("that is stopped is as if it had never begun, and none is begun after it", async () => {
    const answer = Promise.withResolvers<Answer>();
    const { polling, poll, watched, heard, calls } = startPolling(() => answer.promise);
    const polled = poll();
    await settle();
    await polling.stop();
    answer.resolve(failed("network"));
    await polled;
    await poll();
    expect([heard(), calls.length, watched.polled]).toEqual([[], 1, false]);
  });
});

it("a commit that fails leaves everything as it was; the next poll decides the same again", async () => {
  const { poll, watched, world, heard, committed, clock, lines } = startPolling(() =>
    listed(listing({ a: "error" })),
  );
  const refused: Verdict[] = [];
  world.commit = (verdict) => {
    refused.push(verdict);
    return Promise.reject(new Error("disk full"));
  };
  const { progress } = watched.state;
  await poll();
  await poll();
  const heardOnce = ["polled us ok 0", "commit 1", "commit 1", "lost"];
  expect(heard().slice(0, 4)).toEqual(heardOnce);
  expect(watched.state.progress).toBe(progress);
  expect([watched.polled, watched.up, watched.state.incidents.size]).toEqual([true, false, 0]);
  expect(watched.state.snapshot.sandboxes).toEqual([]);
  // Logged once, however many polls are lost.
  expect(lines).toMatchObject([{ level: "error", event: "poll.failed", key: "research" }]);

  world.commit = () => Promise.resolve();
  await poll();
  expect(heard().slice(-2)).toEqual(["committed true", `outbox ${clock.now().utcMs}`]);
  const [kept, lost] = [committed[0], refused[0]].map((each) => each && changesOf(each.diff));
  expect(kept).toHaveLength(1);
  expect(kept).toEqual(lost);
  expect(committed[0]?.incidents.outbox.length).toBe(1);
  expect(lines[1]).toMatchObject({ event: "poll.recovered", lost_polls: 2, key: "research" });
});

describe("a refused key", () => {
  /** Polls about 30 s apart until each of these answers was given, and when requests came. Seconds. */
  const play = async (refused: readonly boolean[]) => {
    let asked = 0;
    const started = startPolling(() => (refused[asked++] ? failed("auth") : listed(listing({}))));
    const { clock, poll, calls } = started;
    const startMs = clock.now().monotonicMs;
    const askedAt: number[] = [];
    for (let polls = 0; asked < refused.length; polls += 1) {
      const before = calls.length;
      await poll();
      const atMs = clock.now().monotonicMs - startMs;
      if (calls.length > before) askedAt.push(Math.round(atMs / second));
      clock.advance(30 * second + 200 * (1 - (polls % 3)));
    }
    return { ...started, askedAt };
  };

  it("is asked about at the next poll, then at distances that double up to five minutes", async () => {
    const { askedAt } = await play(Array.from({ length: 8 }, () => true));
    expect(askedAt).toEqual([0, 30, 90, 210, 450, 750, 1_050, 1_350]);
  });

  it("is not asked about sooner where its poll started late", async () => {
    const { clock, poll, calls } = startPolling(() => failed("auth"));
    await poll();
    clock.advance(40 * second);
    await poll(20 * second);
    clock.advance(42 * second);
    await poll(8 * second);
    expect(calls.length).toBe(2);
    clock.advance(8 * second);
    await poll();
    expect(calls.length).toBe(3);
  });

  it("that is refused after it was accepted again is asked about at the next poll again", async () => {
    const { askedAt, lines } = await play([true, true, true, false, true, true]);
    expect(askedAt).toEqual([0, 30, 90, 210, 240, 270]);
    const msg = expect.stringContaining("doubles up to 5 minutes");
    const refusal = { level: "warn", region: "us", key: "research", retry_seconds: 30, msg };
    const refusals = lines.filter(({ event }) => event === "target.refused");
    expect(refusals).toMatchObject([refusal, refusal]);
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
    const polled = heard().filter((line) => line.startsWith("polled"));
    expect(polled).toEqual(Array.from({ length: 4 }, () => "polled us auth 0"));
  });

  it("stays refused over a call without an answer, and no longer than until another answer", async () => {
    let answer: Answer = failed("auth");
    const { clock, poll, lines } = startPolling(() => answer);
    const refusals: number[] = [];
    const down = { ...failed("server_error"), status: 503 };
    for (answer of [failed("auth"), failed("network"), failed("auth"), down, failed("auth")]) {
      clock.advance(5 * minute);
      await poll();
      refusals.push(lines.filter(({ event }) => event === "target.refused").length);
    }
    expect(refusals).toEqual([1, 1, 1, 1, 2]);
  });
});

describe("the time between two polls", () => {
  it.each([
    [62, 62 * second],
    [64, 0],
  ])("of which none came for %d s counts as observed for %d ms", async (later, observedMs) => {
    const { clock, poll, watched } = startPolling(idle);
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
    const schedule = { kind: "cron", expression: "0,30 * 22 * * *", timeZone: "UTC" } as const;
    const { clock, poll, watched } = startPolling(idle, schedule);
    await poll();
    const pauseMs = 12.5 * 60 * minute + 20 * second;
    clock.advance(pauseMs);
    await poll();
    clock.holdUp(64 * second);
    await poll();
    expect(watched.state.progress).toMatchObject({ observed: { ms: pauseMs, polls: 3 } });
  });

  it("counts as observed where the earlier one was all that was left of a round", async () => {
    const { clock, poll, watched } = startPolling(idle);
    await poll();
    clock.holdUp(59 * second);
    await poll(second);
    clock.advance(31 * second);
    await poll();
    expect(watched.state.progress).toMatchObject({ observed: { ms: 90 * second, polls: 3 } });
  });
});
