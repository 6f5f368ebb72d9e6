import { describe, expect, it } from "vitest";
import { nothingKnown } from "../../../src/alerts/target-state.ts";
import type { Store } from "../../../src/store/store.ts";
import { addTarget } from "../../support/add-target.ts";
import {
  judgeBy,
  listing,
  research,
  server,
  serverError,
  watchFleet,
} from "../../support/fleet.ts";
import { engines } from "../support/engines.ts";
import { openPollStore } from "../support/poll-store.ts";

async function follow(store: Store, id: number) {
  for await (const [found] of store.targets.follow([id])) if (found) return found;
  throw new Error("the target is not stored");
}

describe.each(engines)("targets that another process polls, on $name", (engine) => {
  it("are read as it committed them last", async () => {
    const { store, restart, targetId } = await openPollStore(engine);
    const reader = restart();
    const { id, target, ...rest } = await follow(reader, targetId);
    const { progress, openIncidents } = nothingKnown;
    expect({ id, target }).toEqual({ id: targetId, target: research });
    expect(rest).toEqual({ progress, openIncidents, version: 0, snapshotVersion: 0, servers: 0 });

    const { poll } = watchFleet(research, { judge: judgeBy([serverError]) });
    await store.commitPoll(targetId, poll(listing({ a: "error", b: "idle" })));
    const verdict = poll("failed");
    await store.commitPoll(targetId, verdict);
    expect(await reader.targets.versions()).toEqual(new Map([[targetId, 2]]));
    expect(await follow(reader, targetId)).toMatchObject({
      progress: verdict.progress,
      openIncidents: [{ rule: "server-error" }],
      servers: 2,
    });
  });

  it("have another version of the snapshot only where a row of it was written", async () => {
    const { store, targetId } = await openPollStore(engine);
    const { poll } = watchFleet();
    const versions: (readonly [version: number, ofSnapshot: number])[] = [];
    const polls = [
      listing({ a: "idle" }),
      listing({ a: "idle" }),
      "failed",
      listing({ a: "error" }),
      listing({}),
    ] as const;
    for (const each of polls) {
      await store.commitPoll(targetId, poll(each));
      const { version, snapshotVersion } = await follow(store, targetId);
      versions.push([version, snapshotVersion]);
    }
    expect(versions).toEqual([
      [1, 1],
      [2, 1],
      [3, 1],
      [4, 4],
      [5, 5],
    ]);
  });

  it("have another version after what a changed configuration did to their incidents", async () => {
    const { store, restart, targetId } = await openPollStore(engine);
    const { incidents } = watchFleet().poll(listing({ a: "error" }));
    await store.commitIncidents(targetId, incidents);
    expect(await follow(store, targetId)).toMatchObject({ version: 1, openIncidents: [{}] });
    const stale = restart();
    await expect(stale.commitIncidents(targetId, incidents)).rejects.toThrow("another process");
  });

  it("have snapshots as they are read one by one, also a large one among small ones", async () => {
    const { store, targetId } = await openPollStore(engine);
    const ids = [targetId];
    for (const key of ["b", "c", "d"]) ids.push((await addTarget(store, { region: "eu", key })).id);
    const judge = judgeBy([serverError]);
    for (const [at, id] of ids.entries()) {
      const servers = Array.from({ length: at === 1 ? 6_000 : at }, (_, n) => server(`s${n}`));
      const box = {
        id: `box${at}`,
        status: "idle",
        benchmark: null,
        createdAt: null,
        servers,
      } as const;
      const target = { region: "eu", key: `key${at}` };
      const { poll } = watchFleet(target, { judge });
      await store.commitPoll(id, poll({ complete: true, sandboxes: [box] }));
    }
    const targets = ids.map((id, at) => ({ id, servers: at === 1 ? 6_000 : at }));
    const read: number[] = [];
    for await (const [id, snapshot] of store.targets.snapshotsOf(targets)) {
      read.push(id);
      expect(snapshot).toEqual(await store.targets.snapshotOf(id));
    }
    expect(read).toEqual(ids);
  });
});
