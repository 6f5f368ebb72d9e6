import { describe, expect, it } from "vitest";
import { createFleetView } from "../../src/app/fleet-view.ts";
import type { Target } from "../../src/fleet/model.ts";
import { openStore, openStoreReadOnly } from "../../src/store/store.ts";
import { addTarget } from "../support/add-target.ts";
import { createFakeClock } from "../support/fake-clock.ts";
import { judgeBy, listing, serverError, startMs, watchFleet } from "../support/fleet.ts";
import { freshStoreFile } from "../support/fresh-store.ts";
import { answered, judgeProbesBy, ranProbe } from "../support/probes.ts";
import { testConfig } from "../support/test-config.ts";

const mine: Target = { region: "us", key: "mine" };
const theirs: Target = { region: "us", key: "theirs" };

const config = testConfig({
  regions: { us: { base_url: "https://us.example" } },
  keys: [
    { name: "mine", api_key: "secret-one", regions: ["us"] },
    { name: "theirs", api_key: "secret-two", regions: ["us"] },
  ],
  poll: { schedule: "*/30 * * * * *", stale_after: 3 },
  probes: [{ name: "login", operation: "user", id: "user-1", every: "1m" }],
});

/** A replica that polls `theirs`, and what another one can show. */
async function twoReplicas() {
  const path = freshStoreFile();
  const writer = openStore(path);
  await using opening = new AsyncDisposableStack();
  opening.defer(() => writer.close());
  const store = openStoreReadOnly(path);
  opening.defer(() => store.close());
  const clock = createFakeClock(startMs);
  const [own, followed] = [await addTarget(writer, mine), await addTarget(writer, theirs)];
  const { poll } = watchFleet(theirs, { judge: judgeBy([serverError]) });
  const { watched, poll: pollOwn } = watchFleet(mine, { id: own.id });
  let [reads, snapshotsRead] = [0, 0];
  const targets = {
    ...store.targets,
    versions() {
      reads += 1;
      return store.targets.versions();
    },
    async *snapshotsOf(...[wanted]: Parameters<typeof store.targets.snapshotsOf>) {
      for await (const read of store.targets.snapshotsOf(wanted)) {
        snapshotsRead += 1;
        yield read;
      }
    },
  };
  const fleet = createFleetView({ config, store: { ...store, targets }, clock });
  const closing = opening.move();
  return {
    clock,
    store,
    fleet,
    watched,
    reads: () => reads,
    snapshotsRead: () => snapshotsRead,
    view() {
      const view = fleet.all.targets[1];
      if (!view) throw new Error("each configured target has a view");
      return view;
    },
    /** Half a minute later. It is not stored. */
    pollOwn: (outcome: Parameters<typeof poll>[0]) => {
      clock.advance(30_000);
      pollOwn(outcome);
    },
    /** Half a minute later. */
    poll: async (outcome: Parameters<typeof poll>[0]) => {
      clock.advance(30_000);
      await writer.commitPoll(followed.id, poll(outcome));
    },
    [Symbol.asyncDispose]: () => closing.disposeAsync(),
  };
}

describe("what a replica shows of targets that another one polls", () => {
  it("is what that one committed", async () => {
    await using world = await twoReplicas();
    const { fleet, poll } = world;
    fleet.gain({ targets: [world.watched], probes: [] });
    await fleet.refresh();
    expect(fleet.all.targets.map(({ target }) => target)).toEqual([mine, theirs]);
    expect(fleet.all.targets[0]).toBe(world.watched);
    const view = world.view();
    expect(view).toMatchObject({ polled: false, withheld: false });

    await poll(listing({ a: "error" }));
    await fleet.refresh();
    expect(view).toMatchObject({ polled: true, up: true, withheld: false, detail: null });
    expect(view.state.snapshot.tallies.servers).toMatchObject({ error: 1 });
    expect([...view.state.incidents.values()]).toMatchObject([{ rule: "server-error" }]);
    expect(view.state.progress.lastSuccessAtMs).toBe(startMs + 30_000);

    await poll("failed");
    await fleet.refresh();
    expect(view).toMatchObject({ polled: true, up: false, withheld: false });
    for (const _ of [1, 2]) await poll("failed");
    await fleet.refresh();
    expect(view).toMatchObject({ polled: true, up: false, withheld: true });
  });

  it("is read at most once a second, and snapshots only where they changed", async () => {
    await using world = await twoReplicas();
    const { fleet, poll, clock } = world;
    fleet.gain({ targets: [world.watched], probes: [] });
    await poll(listing({ a: "idle" }));
    await Promise.all([fleet.refresh(), fleet.refresh()]);
    clock.advance(999);
    await fleet.refresh();
    expect(world.reads()).toBe(1);
    const { snapshot } = world.view().state;
    expect(world.snapshotsRead()).toBe(1);
    await poll(listing({ a: "idle" }));
    await fleet.refresh();
    expect(world.view().state.progress.observed.polls).toBe(2);
    expect(world.view().state.snapshot).toBe(snapshot);
    await poll(listing({ a: "error" }));
    await fleet.refresh();
    expect(world.snapshotsRead()).toBe(2);
    clock.advance(1_000);
    await fleet.refresh();
    expect(world.reads()).toBe(4);
    expect(world.snapshotsRead()).toBe(2);
  });

  it("is not shown as present when that one does not poll any more, until it does again", async () => {
    await using world = await twoReplicas();
    const { fleet, poll, clock } = world;
    await poll(listing({ a: "idle" }));
    await fleet.refresh();
    clock.advance(90_000);
    await fleet.refresh();
    expect(world.view()).toMatchObject({ polled: true, up: true, withheld: false });
    clock.advance(1);
    expect(world.view()).toMatchObject({ polled: false, up: false, withheld: true });
    await poll(listing({ a: "idle" }));
    await fleet.refresh();
    expect(world.view()).toMatchObject({ polled: true, up: true, withheld: false });
  });

  it.each([
    ["an hour ahead", -3_600_000],
    ["an hour behind", 3_600_000],
  ])("does not depend on its clock, which is %s", async (_, aheadMs) => {
    await using world = await twoReplicas();
    const { fleet, poll, clock } = world;
    clock.stepUtc(aheadMs);
    await fleet.refresh();
    await poll(listing({ a: "idle" }));
    await fleet.refresh();
    expect(world.view()).toMatchObject({ polled: true, up: true, withheld: false });
    clock.advance(90_001);
    expect(world.view()).toMatchObject({ polled: false, withheld: true });
  });

  it("is as old as it is, if it was not read for long", async () => {
    await using world = await twoReplicas();
    const { fleet, poll, clock } = world;
    await poll(listing({ a: "idle" }));
    clock.advance(60_000);
    await fleet.refresh();
    expect(world.view().withheld).toBe(false);
    clock.advance(30_001);
    expect(world.view().withheld).toBe(true);
  });

  it("changes hands, at the same place", async () => {
    await using world = await twoReplicas();
    const { fleet, poll } = world;
    await poll(listing({ a: "idle" }));
    fleet.gain({ targets: [world.watched], probes: [] });
    expect(fleet.find(mine)).toBe(world.watched);
    expect(fleet.own.targets).toEqual([world.watched]);
    fleet.drop(new Set(["mine"]));
    expect(fleet.find(mine)).toBeUndefined();
    expect(fleet.own.targets).toEqual([]);
    await fleet.refresh();
    expect(fleet.all.targets.map(({ target }) => target)).toEqual([mine, theirs]);
    expect(fleet.all.targets[0]).not.toBe(world.watched);
  });

  it("is what this replica knew last, as old as that is, until it can be read", async () => {
    await using world = await twoReplicas();
    const { fleet, clock } = world;
    const [probe] = config.probes;
    if (!probe) throw new Error("a probe is configured");
    const { watched, run } = ranProbe(judgeProbesBy(), { probe });
    fleet.gain({ targets: [world.watched], probes: [watched] });
    world.pollOwn(listing({ a: "error" }));
    run(answered);
    await fleet.refresh();
    await world.store.close();
    clock.advance(60_000);
    fleet.drop(new Set(["mine"]));
    await fleet.refresh();
    const [view] = fleet.all.targets;
    expect(view).toMatchObject({ target: mine, polled: true, up: true, withheld: false });
    expect(view?.state.snapshot.tallies.servers).toMatchObject({ error: 1 });
    expect([...(view?.state.incidents.values() ?? [])]).toMatchObject([{ rule: "server-error" }]);
    expect(fleet.all.probes.map(({ progress }) => progress)).toContain(watched.progress);
    expect(fleet.all.probes).not.toContain(watched);
    clock.advance(30_001);
    expect(view).toMatchObject({ polled: false, up: false, withheld: true });
  });

  it("is read at once, also where it was dropped during a reading", async () => {
    await using world = await twoReplicas();
    const { fleet } = world;
    fleet.gain({ targets: [world.watched], probes: [] });
    const reading = fleet.refresh();
    fleet.drop(new Set(["mine"]));
    await reading;
    await fleet.refresh();
    expect(world.reads()).toBe(2);
  });

  it("stays as it was while the store cannot be read", async () => {
    await using world = await twoReplicas();
    const { fleet, poll, clock } = world;
    await poll(listing({ a: "idle" }));
    await fleet.refresh();
    await world.store.close();
    clock.advance(1_000);
    await fleet.refresh();
    expect(world.view().state.snapshot.tallies.servers).toMatchObject({ idle: 1 });
  });
});

it("alone, a process shows what it polls, and reads nothing", async () => {
  const fleet = createFleetView(null);
  await using world = await twoReplicas();
  fleet.gain({ targets: [world.watched], probes: [] });
  await fleet.refresh();
  expect(fleet.all).toBe(fleet.own);
  expect(fleet.all.targets).toEqual([world.watched]);
});
