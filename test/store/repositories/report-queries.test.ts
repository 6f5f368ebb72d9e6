import { describe, expect, it } from "vitest";
import { firing, resolved } from "../../notify/support/notified-store.ts";
import { collect } from "../../support/collect.ts";
import { listing, research, startMs, watchFleet } from "../../support/fleet.ts";
import { engines } from "../support/engines.ts";
import { noOutcome } from "../support/outbox-store.ts";
import { openPollStore } from "../support/poll-store.ts";

describe.each(engines)("reports on $name", (engine) => {
  it("read when incidents of servers fired and were over within a range, in pages", async () => {
    const { store, targetId } = await openPollStore(engine);
    const servers = Array.from({ length: 1_001 }, (_, index) =>
      firing(`server ${index}`, { firedAtMs: startMs }),
    );
    const { subject } = firing("any");
    const gone = { name: "resolved", reason: "gone" } as const;
    const others = [
      firing("of the target", { subject: { kind: "target" }, firedAtMs: startMs }),
      firing("before", { firedAtMs: startMs - 1 }),
      firing("after", { firedAtMs: startMs + 10 }),
      resolved("over", startMs + 9, { subject, startedAtMs: startMs - 9, firedAtMs: startMs - 9 }),
      resolved("gone", startMs + 9, { subject, firedAtMs: startMs - 9, phase: gone }),
    ];
    const written = [...servers, ...others];
    await store.commitIncidents(targetId, { ...noOutcome, written });
    const found = await collect(
      store.incidents.times({ fromMs: startMs, toMs: startMs + 10 }, "server"),
    );
    expect(found.filter(({ firedAtMs }) => firedAtMs === startMs)).toHaveLength(1_001);
    const ended = found.filter(({ firedAtMs }) => firedAtMs !== startMs);
    expect(ended.map(({ recoveredAtMs }) => recoveredAtMs)).toEqual(
      expect.arrayContaining([startMs + 9, null]),
    );
    expect(ended).toHaveLength(2);
    expect(found[0]).toMatchObject(research);
  });

  it("read the targets, and the servers that are present", async () => {
    const { store, targetId } = await openPollStore(engine);
    expect(await store.targets.polled()).toEqual([{ target: research, lastPollAtMs: null }]);
    const { watched, poll } = watchFleet();
    const verdict = poll(listing({ a: "error", b: "idle" }));
    await store.commitPoll(targetId, verdict);
    const lastPollAtMs = verdict.at.utcMs;
    expect(await store.targets.polled()).toEqual([{ target: research, lastPollAtMs }]);
    const present = await store.targets.present(research);
    expect(present?.lastPollAtMs).toBe(lastPollAtMs);
    // Of two servers and their sandbox.
    expect(await store.changes.countSince(lastPollAtMs)).toBe(3);
    expect(await store.changes.countSince(lastPollAtMs + 1)).toBe(0);
    expect(present?.snapshot.sandboxes).toEqual(watched.state.snapshot.sandboxes);
    expect(await store.targets.present({ region: "eu", key: "research" })).toBeNull();
  });
});
