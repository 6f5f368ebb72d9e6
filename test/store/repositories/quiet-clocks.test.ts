import { describe, expect, it } from "vitest";
import { judgePoll, type Verdict } from "../../../src/alerts/judge.ts";
import { watchTarget } from "../../../src/polling/watched-target.ts";
import { createStore } from "../../../src/store/store.ts";
import { addTarget } from "../../support/add-target.ts";
import { createFakeClock } from "../../support/fake-clock.ts";
import { judgeBy, listing, startMs, toOutcome, watchFleet } from "../../support/fleet.ts";
import { engines } from "../support/engines.ts";

const second = 1_000;
const idle = listing({ a: "idle" });
const nothing = { written: [], dropped: [], flaps: [], steps: [], outbox: [] };

describe.each(engines)("clocks of targets whose polls changed nothing, on $name", (engine) => {
  /** A store with targets that were polled once. */
  async function openQuiet(targetCount: number) {
    const { kysely } = await engine.open();
    const close = async (): Promise<void> => {};
    const clock = createFakeClock();
    const failures: unknown[] = [];
    const onClocksFailed = (error: unknown): void => void failures.push(error);
    const store = createStore(kysely, close, { clock, onClocksFailed });
    const targets = [];
    for (let index = 0; index < targetCount; index += 1) {
      const target = { region: "us", key: `key-${index}` };
      const { id } = await addTarget(store, target);
      const { poll } = watchFleet(target, { judge: judgeBy() });
      const commit = (...outcome: Parameters<typeof poll>) =>
        store.commitPoll(id, poll(...outcome));
      await commit(idle);
      targets.push({ id, poll, commit });
    }
    /** What a process that starts finds. */
    const stored = () => createStore(kysely, close).targets.all();
    const polls = async () => (await stored()).map(({ progress }) => progress.attempted.polls);
    /** Time passes, and what is due then is written. */
    const pass = async (ms: number): Promise<void> => {
      clock.advance(ms);
      await store.commitIncidents(null, nothing);
    };
    return { store, clock, targets, stored, polls, failures, pass };
  }

  it("are written together, five seconds after the first of them", async () => {
    const { clock, targets, stored, polls, pass } = await openQuiet(3);
    await targets[0]?.commit(idle);
    await pass(4 * second);
    await targets[0]?.commit(idle, 45);
    await targets[1]?.commit(idle);
    await pass(second - 1);
    expect(await polls()).toEqual([1, 1, 1]);
    await pass(1);
    expect(await polls()).toEqual([3, 2, 1]);
    const [first] = await stored();
    expect(first?.progress).toMatchObject({
      attempted: { polls: 3, ms: 75 * second },
      observed: { polls: 3, ms: 75 * second },
      lastComplete: true,
    });
    const { lastPollAtMs, lastSuccessAtMs, recorded } = first?.progress ?? {};
    expect([lastSuccessAtMs, recorded?.toMs]).toEqual([lastPollAtMs, lastPollAtMs]);
    expect(clock.armed).toBe(0);
  });

  it.each([
    ["a change", listing({ a: "error" })],
    ["a server that is missing", listing({})],
    ["a failure", "failed"],
    ["a partial listing", { ...idle, complete: false }],
  ] as const)("are stored at once with %s, and never set back", async (_, outcome) => {
    const { targets, polls, pass } = await openQuiet(1);
    await targets[0]?.commit(idle);
    await targets[0]?.commit(outcome);
    expect(await polls()).toEqual([3]);
    await pass(5 * second);
    expect(await polls()).toEqual([3]);
  });

  it("are stored at once by the first complete poll after a failed one, and by the first of all", async () => {
    const { store, targets, polls } = await openQuiet(1);
    await targets[0]?.commit("failed");
    await targets[0]?.commit(idle);
    const { id } = await addTarget(store, { region: "us", key: "empty" });
    await store.commitPoll(id, watchFleet().poll(listing({})));
    expect(await polls()).toEqual([3, 1]);
  });

  it("are written by closing", async () => {
    const { store, targets, polls } = await openQuiet(2);
    await Promise.all(targets.map(({ commit }) => commit(idle)));
    await store.close();
    expect(await polls()).toEqual([2, 2]);
  });

  it("leave a gap after a kill, from the last that was written", async () => {
    const { store, targets, stored, pass } = await openQuiet(1);
    await targets[0]?.commit(idle);
    await pass(5 * second);
    await targets[0]?.commit(idle);
    const [restored] = await stored();
    if (!restored) throw new Error("the target is not stored");
    const { progress } = restored;
    const snapshot = await store.targets.snapshotOf(restored.id);
    const options = { staleAfter: 3, restoredForMs: 90_000, nowUtcMs: startMs };
    const { state } = watchTarget(restored, snapshot, options);
    const at = { utcMs: startMs + 300 * second, monotonicMs: 0 };
    const { gap } = judgePoll(state, toOutcome(idle), at, judgeBy());
    expect(progress.recorded?.toMs).toBe(startMs + 60 * second);
    expect(gap).toEqual({
      closedAtMs: null,
      opened: { fromMs: startMs + 60 * second, toMs: at.utcMs, reason: "not_running" },
    });
  });

  it("that cannot be written are reported, and polls are committed by themselves until they can", async () => {
    const { store, targets, polls, failures, pass } = await openQuiet(3);
    const [spoilt, quiet, other] = targets;
    const verdict = spoilt?.poll(idle);
    if (!spoilt || !verdict) throw new Error("there is no such target");
    const attempted = { polls: Number.NaN, ms: 0 };
    const unstorable: Verdict = { ...verdict, progress: { ...verdict.progress, attempted } };
    await store.commitPoll(spoilt.id, unstorable);
    await quiet?.commit(idle);
    await pass(5 * second);
    expect(failures).toHaveLength(1);
    expect(await polls()).toEqual([1, 1, 1]);
    await other?.commit(idle);
    expect(await polls()).toEqual([1, 1, 2]);
    await pass(5 * second);
    expect(failures).toHaveLength(1);
    await spoilt.commit(idle);
    await pass(5 * second);
    expect(await polls()).toEqual([3, 2, 2]);
    await other?.commit(idle);
    expect(await polls()).toEqual([3, 2, 2]);
  });
});
