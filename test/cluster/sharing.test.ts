import { describe, expect, it } from "vitest";
import { ownersOf } from "../../src/cluster/assignment.ts";
import { openCluster, units } from "./support/open-cluster.ts";

describe("a hand-over", () => {
  it("moves to a replica that joins what falls to it, each unit after its work has ended", async () => {
    const { start, pass, shares, database } = openCluster();
    const one = await start("one");
    const gate = Promise.withResolvers<void>();
    one.gates.giveUp = gate.promise;
    const two = await start("two");
    await pass(1_000);
    // Its work has not ended: nothing has moved.
    expect(two.working.size).toBe(0);
    expect(shares(one, two)).toBe(true);
    gate.resolve();
    await pass(200);
    expect(shares(one, two)).toBe(true);
    const owners = ownersOf(units, [...database.replicas.values()]);
    const fallsTo = units.filter((unit) => owners.get(unit) === two.ownership.view().replica);
    expect(fallsTo.length).toBeGreaterThan(4);
    expect(two.working).toEqual(new Set(fallsTo));
    expect(two.took).toEqual([]);
    expect(one.heard).not.toContain("dropAll");
  });

  it("loses no time when units are released while others are claimed", async () => {
    const { start, open, pass, shares, clock } = openCluster();
    const one = await start("one");
    const gate = Promise.withResolvers<void>();
    const inner = { ...one.work };
    // One unit takes longer than all others.
    one.work.giveUp = async (released) => {
      if (released.includes("key:4")) await gate.promise;
      await inner.giveUp(released);
    };
    const two = open("two");
    two.state.noticeMs = 1_000;
    void two.start();
    await pass(1_500);
    gate.resolve();
    const fromMs = clock.now().monotonicMs;
    while (!two.working.has("key:4")) await pass(50);
    expect(shares(one, two)).toBe(true);
    expect(clock.now().monotonicMs - fromMs).toBeLessThan(2_000);
  });

  it("goes on where the answer to a release was lost", async () => {
    const { start, pass, shares } = openCluster();
    const one = await start("one");
    one.state.isReleaseUnanswered = true;
    const two = await start("two");
    await pass(2_000);
    expect(shares(one, two)).toBe(true);
    expect(one.working.size).toBeGreaterThan(4);
    expect(one.heard).not.toContain("dropAll");
    expect(one.events()).toContain("released");
  });

  it("names the owner of each unit to both", async () => {
    const { start, pass } = openCluster();
    const one = await start("one");
    const two = await start("two");
    await pass(200);
    const owners = units.map((unit) => one.ownership.ownerOf(unit)?.address);
    expect(owners).toEqual(units.map((unit) => two.ownership.ownerOf(unit)?.address));
    expect(owners).toEqual(units.map((unit) => (one.working.has(unit) ? "one" : "two")));
  });

  it("takes a moment when a replica stops", async () => {
    const { start, pass, shares } = openCluster();
    const [one, two, three] = [await start("one"), await start("two"), await start("three")];
    await pass(1_000);
    expect(shares(one, two, three)).toBe(true);
    await two.ownership.stop();
    await pass(100);
    expect(shares(one, three)).toBe(true);
    expect(two.working.size).toBe(0);
    expect(one.took.concat(three.took)).toEqual([]);
  });
});

describe("a replica that stops", () => {
  it("leaves what it has released to others while its slowest unit ends", async () => {
    const { start, pass, database } = openCluster();
    const [one, two, three] = [await start("one"), await start("two"), await start("three")];
    await pass(1_000);
    const [slow] = two.working;
    const gate = Promise.withResolvers<void>();
    const inner = { ...two.work };
    two.work.giveUp = async (released) => {
      if (slow && released.includes(slow)) await gate.promise;
      await inner.giveUp(released);
    };
    const stopped = two.ownership.stop();
    await pass(200);
    expect([...two.working]).toEqual([slow]);
    expect(one.working.size + three.working.size).toBe(units.length - 1);
    expect(database.owned()["two"]).toEqual([slow]);
    await pass(6_000);
    expect(two.ownership.owns(slow ?? "")).toBe(true);
    expect(two.events()).not.toContain("configuration");
    gate.resolve();
    await pass(200);
    await stopped;
    expect(one.working.size + three.working.size).toBe(units.length);
  });

  it("leaves to others what it gets by a claim in progress", async () => {
    const { start, pass, shares } = openCluster();
    const [one, two] = [await start("one"), await start("two")];
    const gate = Promise.withResolvers<void>();
    two.gates.giveUp = gate.promise;
    two.state.claimMs = 2_000;
    await one.ownership.stop();
    await pass(1_000);
    void two.ownership.stop();
    const three = await start("three");
    await pass(2_000);
    expect(three.working.size).toBeGreaterThan(units.length / 4);
    gate.resolve();
    await pass(200);
    expect(shares(three)).toBe(true);
  });
});

describe("a take-over", () => {
  it("happens as soon as the lease of another replica has ended", async () => {
    const { start, pass, shares, database, clock } = openCluster();
    const [one, two] = [await start("one"), await start("two")];
    await pass(6_000);
    const moved = two.working.size;
    two.state.isAway = true;
    await pass(700);
    // From now on, it renews its own lease at other times than those at which the other lease can end.
    await database.open().store.notice("units");
    await pass(50);
    const [row] = [...database.replicas.values()].filter(({ address }) => address === "two");
    const endsInMs = (row?.expiresAtMs ?? 0) - clock.now().utcMs - 3_600_000;
    await pass(endsInMs - 50);
    expect(one.working.size).toBe(units.length - moved);
    // Before, it has stopped by itself.
    expect(two.working.size).toBe(0);
    await pass(150);
    expect(shares(one)).toBe(true);
    expect(one.took).toEqual([moved]);
    expect(database.replicas.size).toBe(1);
  });

  it("is tried again while the transaction of the other one cannot be ended", async () => {
    const { start, pass, shares } = openCluster();
    const [one, two] = [await start("one"), await start("two")];
    await pass(1_000);
    two.state.isAway = true;
    one.state.isClaimRefused = true;
    await pass(16_000);
    const { claims } = one.state;
    await pass(3_000);
    expect(one.state.claims - claims).toBe(3);
    expect(one.ownership.isHeld()).toBe(true);
    one.state.isClaimRefused = false;
    await pass(1_000);
    expect(shares(one)).toBe(true);
  });

  it("leaves to the one that comes back only what falls to it then", async () => {
    const { start, pass, shares } = openCluster();
    const [one, two] = [await start("one"), await start("two")];
    two.state.isAway = true;
    await pass(30_000);
    two.state.isAway = false;
    await pass(2_000);
    expect(shares(one, two)).toBe(true);
    expect(two.working.size).toBeGreaterThan(4);
  });
});

it("a replica that has expired is removed, also if it owned nothing", async () => {
  const { start, pass, database } = openCluster();
  const [, newer] = [await start("older", "first"), await start("newer", "second")];
  const [third] = [await start("third", "second")];
  newer.state.isAway = true;
  await pass(16_000);
  expect([...database.replicas.values()].map(({ address }) => address)).toEqual(["older", "third"]);
  expect(third.working.size).toBe(0);
});

describe("another configuration", () => {
  it("of a newer replica takes the older one's units only when that one stops", async () => {
    const { start, pass, shares } = openCluster();
    const older = await start("older", "first");
    const newer = await start("newer", "second");
    await pass(10_000);
    expect(shares(older)).toBe(true);
    expect(newer.working.size).toBe(0);
    expect(older.events().at(-1)).toBe("configuration");
    await older.ownership.stop();
    await pass(100);
    expect(shares(newer)).toBe(true);
  });

  it("that is older takes nothing while a newer replica lives, and everything after that", async () => {
    const { start, pass, shares } = openCluster();
    const older = await start("older", "first");
    const newer = await start("newer", "second");
    await older.ownership.stop();
    await pass(100);
    const again = await start("again", "first");
    await pass(10_000);
    expect(again.working.size).toBe(0);
    expect(again.events()).toContain("configuration");
    newer.state.isAway = true;
    await pass(16_000);
    expect(shares(again)).toBe(true);
    expect(again.events().filter((event) => event === "configuration")).toHaveLength(2);
  });

  it("that is older takes nothing after an outage before newer replicas have joined again", async () => {
    const { start, pass, shares } = openCluster();
    const first = await start("first", "first");
    const newer = await start("newer", "second");
    await first.ownership.stop();
    await pass(1_000);
    const older = await start("older", "first");
    for (const each of [newer, older]) each.state.isAway = true;
    await pass(30_000);
    older.state.isAway = false;
    await pass(14_000);
    expect(older.ownership.isHeld()).toBe(true);
    expect(older.working.size).toBe(0);
    newer.state.isAway = false;
    await pass(60_000);
    expect(shares(newer)).toBe(true);
    expect(older.working.size).toBe(0);
  });

  it("that was replaced by a newer one takes everything a lease after it has joined", async () => {
    const { start, pass, shares } = openCluster();
    const newer = [await start("first", "first"), await start("second", "second")];
    for (const each of newer) await each.ownership.stop();
    const [one, two] = [await start("one", "first"), await start("two", "first")];
    await pass(14_500);
    expect(one.working.size + two.working.size).toBe(0);
    await pass(6_000);
    expect(shares(one, two)).toBe(true);
    expect(one.working.size).toBeGreaterThan(4);
    expect(one.events().filter((event) => event === "configuration")).toHaveLength(2);
  });

  it("is divided among those that have the newest", async () => {
    const { start, pass, shares } = openCluster();
    const older = await start("older", "first");
    const [two, three] = [await start("two", "second"), await start("three", "second")];
    await pass(1_000);
    await older.ownership.stop();
    await pass(200);
    expect(shares(two, three)).toBe(true);
    expect(Math.min(two.working.size, three.working.size)).toBeGreaterThan(4);
  });
});
