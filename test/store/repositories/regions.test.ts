import { describe, expect, it } from "vitest";
import { firing, resolved } from "../../notify/support/notified-store.ts";
import { addTarget } from "../../support/add-target.ts";
import { listing, startMs, watchFleet } from "../../support/fleet.ts";
import { engines } from "../support/engines.ts";
import { noOutcome } from "../support/outbox-store.ts";
import { openPollStore } from "../support/poll-store.ts";

describe.each(engines)("regions on $name", (engine) => {
  it("are read with their targets as these were last polled", async () => {
    const { store } = await openPollStore(engine);
    const [up, down] = [
      { region: "eu", key: "research" },
      { region: "eu", key: "support" },
    ];
    const upPolls = watchFleet(up);
    const downPolls = watchFleet(down);
    const { id: upId } = await addTarget(store, up);
    const { id: downId } = await addTarget(store, down);
    await store.commitPoll(upId, upPolls.poll(listing({ a: "idle", b: "idle" })));
    await store.commitPoll(downId, downPolls.poll(listing({ a: "idle" })));
    const failed = downPolls.poll("failed");
    await store.commitPoll(downId, failed);
    const again = downPolls.poll("failed");
    await store.commitPoll(downId, again);
    const times = { sinceMs: failed.at.utcMs, lastMs: again.at.utcMs };
    const failure = { ...times, reason: "timeout", status: null };
    expect((await store.regions.read("eu")).targets).toEqual([
      { target: up, failuresInARow: 0, failure: null, servers: 2 },
      { target: down, failuresInARow: 2, failure, servers: 1 },
    ]);
  });

  it("come back with their incidents and flap records as these were written last", async () => {
    const { store } = await openPollStore(engine);
    const subject = { kind: "region", region: "eu" } as const;
    const open = firing("open", { subject });
    const over = resolved("over", startMs, { subject });
    const record = { rule: open.rule, ruleFingerprint: open.ruleFingerprint, subject };
    const flaps = [{ ...record, enteredMs: [startMs, startMs + 1] }];
    await store.regions.commit("eu", { ...noOutcome, written: [open, over], flaps });
    expect(await store.regions.withIncidents()).toEqual(["eu"]);
    expect(await store.regions.read("eu")).toEqual({ targets: [], openIncidents: [open], flaps });
    expect(await store.regions.read("us")).toMatchObject({ openIncidents: [], flaps: [] });

    const written = [resolved("open", startMs + 2, { subject })];
    const settled = [{ ...record, enteredMs: [] }];
    await store.regions.commit("eu", { ...noOutcome, written, flaps: settled });
    expect(await store.regions.withIncidents()).toEqual([]);
    expect(await store.regions.read("eu")).toEqual({ targets: [], openIncidents: [], flaps: [] });
  });
});
