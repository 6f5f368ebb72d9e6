import { describe, expect, it } from "vitest";
import { openCluster, units } from "./support/open-cluster.ts";

describe("a replica alone", () => {
  it("joins, claims every unit and works for it", async () => {
    const { start, database } = openCluster();
    const one = await start("one");
    expect(one.ownership.isHeld()).toBe(true);
    expect(one.working).toEqual(new Set(units));
    expect(database.owned()).toEqual({ one: units.toSorted() });
    expect(units.every((unit) => one.ownership.owns(unit))).toBe(true);
    expect(one.ownership.owns("key:99")).toBe(false);
    expect(one.events()).toEqual(["joined", "claimed"]);
    expect(one.took).toEqual([]);
  });

  it("renews its lease at a third of it", async () => {
    const { start, pass } = openCluster();
    const one = await start("one");
    const before = one.state.renewals;
    await pass(30_000);
    expect(one.state.renewals - before).toBe(6);
    expect(one.ownership.view().leaseRemainingMs).toBe(13_000);
    expect(one.heard).toEqual(["gain"]);
  });

  it("owns a unit while it gains it, and is asked for each alone if that fails", async () => {
    const { open, pass, database } = openCluster();
    const one = open("one");
    const gate = Promise.withResolvers<void>();
    one.gates.gain = gate.promise;
    await one.start();
    expect(one.ownership.owns("key:0")).toBe(true);
    gate.reject(new Error("the store does not answer"));
    one.gates.gain = null;
    await pass(50);
    expect(one.working).toEqual(new Set(units));
    expect(one.events()).not.toContain("work_failed");
    expect(database.owned()).toEqual({ one: units.toSorted() });
  });

  it("releases every unit and leaves when it stops, after its work has ended", async () => {
    const { start, pass, database, clock } = openCluster();
    const one = await start("one");
    const gate = Promise.withResolvers<void>();
    one.gates.giveUp = gate.promise;
    const stopped = one.ownership.stop();
    // It goes on renewing its lease meanwhile.
    await pass(40_000);
    expect(database.owned()).toEqual({ one: units.toSorted() });
    gate.resolve();
    await stopped;
    expect(database.replicas.size + database.units.size).toBe(0);
    expect(one.ownership.isHeld()).toBe(false);
    expect(one.events().at(-1)).toBe("left");
    expect(clock.armed).toBe(0);
  });

  it("stops within seconds when the database is away", async () => {
    const { start, pass, clock } = openCluster();
    const one = await start("one");
    one.state.isAway = true;
    let isStopped = false;
    void one.ownership.stop().then(() => (isStopped = true));
    await pass(5_000);
    expect(isStopped).toBe(true);
    expect(clock.armed).toBe(0);
  });

  it("stops within seconds when the database does not answer", async () => {
    const { start, pass } = openCluster();
    const one = await start("one");
    one.state.leaveMs = 60_000;
    let isStopped = false;
    void one.ownership.stop().then(() => (isStopped = true));
    await pass(5_100);
    expect(isStopped).toBe(true);
  });

  it("stops although it was never started, or never reached the database", async () => {
    const { open, pass } = openCluster();
    const one = open("one");
    await one.ownership.stop();
    const other = open("other");
    other.state.isAway = true;
    await other.start();
    expect(other.ownership.isHeld()).toBe(false);
    expect(other.ownership.owns("key:0")).toBe(false);
    const stopped = other.ownership.stop();
    await pass(1_000);
    await stopped;
    expect(other.events()).toEqual(["renewal_failed"]);
  });
});

describe("a lease", () => {
  it("ends the work also when the timer calls back too early", async () => {
    const { start, pass } = openCluster({ earlyMs: 0.5 });
    const one = await start("one");
    one.state.isAway = true;
    await pass(13_050);
    expect(one.heard).toEqual(["gain", "dropAll"]);
  });

  it("is held until two seconds before it ends, counted from when the last renewal was sent", async () => {
    const { start, pass } = openCluster();
    const one = await start("one");
    one.state.isAway = true;
    await pass(12_950);
    expect(one.ownership.isHeld()).toBe(true);
    expect(one.heard).toEqual(["gain"]);
    expect(one.state.interruptions).toBe(0);
    await pass(50);
    expect(one.state.interruptions).toBe(1);
    expect(one.ownership.isHeld()).toBe(false);
    expect(one.ownership.owns("key:0")).toBe(false);
    expect(one.ownership.view().leaseRemainingMs).toBe(0);
    expect(one.heard).toEqual(["gain", "dropAll"]);
    const events = ["joined", "claimed", "renewal_failed", "lease_lost"];
    expect(one.events()).toEqual(events);
    one.state.isAway = false;
    await pass(1_000);
    expect(one.events()).toEqual([...events, "lease_held"]);
  });

  it("is not held after the process was held up, even before a timer can fire", async () => {
    const { start, clock } = openCluster();
    const one = await start("one");
    clock.holdUp(14_000);
    expect(one.ownership.isHeld()).toBe(false);
  });

  it("goes on when the database comes back before the row has expired", async () => {
    const { start, pass, database } = openCluster();
    const one = await start("one");
    const { replica } = one.ownership.view();
    one.state.isAway = true;
    await pass(13_500);
    one.state.isAway = false;
    await pass(1_000);
    expect(one.ownership.view().replica).toBe(replica);
    expect(one.working).toEqual(new Set(units));
    expect(one.heard).toEqual(["gain", "dropAll", "gain"]);
    expect(one.events().at(-1)).toBe("lease_held");
    expect(database.owned()).toEqual({ one: units.toSorted() });
  });

  it("begins again under another id when the database was away for longer", async () => {
    const { start, pass, database } = openCluster();
    const one = await start("one");
    const { replica } = one.ownership.view();
    one.state.isAway = true;
    await pass(60_000);
    expect(one.working.size).toBe(0);
    one.state.isAway = false;
    await pass(1_000);
    expect(one.ownership.view().replica).not.toBe(replica);
    expect(one.working).toEqual(new Set(units));
    expect(one.heard).toEqual(["gain", "dropAll", "gain"]);
    expect(database.replicas.size).toBe(1);
  });

  it("is lost when its row is gone, and begins again at once", async () => {
    const { start, pass, database } = openCluster();
    const one = await start("one");
    database.replicas.clear();
    await pass(5_000);
    const [lost] = one.lines.filter(({ event }) => event === "cluster.lease_lost");
    expect(lost).toMatchObject({ level: "warn", reason: "it has ended" });
    expect(one.heard).toEqual(["gain", "dropAll", "gain"]);
    expect(one.working).toEqual(new Set(units));
  });

  it("begins again at once when the store has refused a commit", async () => {
    const { start, pass } = openCluster();
    const one = await start("one");
    const { replica } = one.ownership.view();
    one.ownership.fenced();
    one.ownership.fenced();
    expect(one.ownership.isHeld()).toBe(false);
    await pass(50);
    expect(one.ownership.view().replica).not.toBe(replica);
    expect(one.heard).toEqual(["gain", "dropAll", "gain"]);
  });

  it("is not renewed while its replica can neither write nor join again, so that others take over", async () => {
    const { start, pass, database, shares } = openCluster();
    const one = await start("one");
    const other = await start("other");
    await pass(30_000);
    expect(shares(one, other)).toBe(true);
    one.state.isJoinRefused = true;
    one.ownership.unwritable();
    expect(one.heard.at(-1)).toBe("dropAll");
    await pass(16_000);
    expect(other.working).toEqual(new Set(units));
    expect(database.owned()).toEqual({ other: units.toSorted() });
    expect(one.ownership.failure()).toEqual(new Error("too many clients"));
    const [lost] = one.lines.filter(({ event }) => event === "cluster.lease_lost");
    expect(lost).toMatchObject({ reason: "nothing could be written for as long as a lease" });
    one.state.isJoinRefused = false;
    await pass(30_000);
    expect(shares(one, other)).toBe(true);
  });

  it("does not begin again before the work of the last one has ended", async () => {
    const { start, pass } = openCluster();
    const one = await start("one");
    const gate = Promise.withResolvers<void>();
    one.gates.gain = gate.promise;
    one.ownership.fenced();
    await pass(50);
    expect(one.heard).toEqual(["gain", "dropAll", "gain"]);
    one.ownership.fenced();
    await pass(20_000);
    expect(one.ownership.isHeld()).toBe(false);
    gate.resolve();
    await pass(50);
    expect(one.heard).toEqual(["gain", "dropAll", "gain", "dropAll", "gain"]);
    expect(one.working).toEqual(new Set(units));
  });

  it("begins again at once where dropping interrupted what had not begun yet, and reports no failure", async () => {
    const { open, pass } = openCluster();
    const one = open("one");
    const gate = Promise.withResolvers<void>();
    one.gates.gain = gate.promise;
    await one.start();
    one.ownership.fenced();
    one.gates.gain = null;
    gate.reject(new Error("the connection was lost"));
    await pass(50);
    expect(one.heard).toEqual(["gain", "dropAll", "gain"]);
    expect(one.working).toEqual(new Set(units));
    expect(one.events()).not.toContain("work_failed");
  });

  it.each(["fenced", "late"] as const)(
    "does not begin again before what was dropped has ended: %s",
    async (cause) => {
      const { start, pass, database } = openCluster();
      const one = await start("one");
      const gate = Promise.withResolvers<void>();
      one.gates.dropAll = gate.promise;
      if (cause === "fenced") one.ownership.fenced();
      else one.state.isAway = true;
      await pass(13_500);
      one.state.isAway = false;
      const joined = [...database.replicas.keys()];
      await pass(20_000);
      expect(one.heard).toEqual(["gain", "dropAll"]);
      expect([...database.replicas.keys()]).toEqual(joined);
      expect(one.ownership.isHeld()).toBe(false);
      gate.resolve();
      await pass(50);
      expect(one.heard).toEqual(["gain", "dropAll", "gain"]);
      expect(one.working).toEqual(new Set(units));
    },
  );

  it("is held for less by a renewal whose answer takes its time, and not at all after longer than it", async () => {
    const { start, pass } = openCluster();
    const one = await start("one");
    one.state.renewalMs = 3_000;
    await pass(8_050);
    expect(one.ownership.view().leaseRemainingMs).toBe(9_950);
    one.state.renewalMs = 14_000;
    await pass(17_000);
    expect(one.ownership.isHeld()).toBe(false);
    expect(one.heard).toEqual(["gain", "dropAll"]);
    one.state.renewalMs = 0;
    await pass(14_000);
    expect(one.working).toEqual(new Set(units));
  });

  it("that goes on does not begin work again that has not ended", async () => {
    const { open, pass } = openCluster();
    const one = open("one");
    const gate = Promise.withResolvers<void>();
    one.gates.gain = gate.promise;
    await one.start();
    one.state.isAway = true;
    await pass(13_500);
    one.state.isAway = false;
    await pass(1_000);
    expect(one.heard).toEqual(["gain", "dropAll"]);
    gate.resolve();
    await pass(3_000);
    expect(one.heard).toEqual(["gain", "dropAll", "gain"]);
    expect(one.working).toEqual(new Set(units));
  });

  it("that is lost while units are claimed makes nothing of the answer", async () => {
    const { open, pass } = openCluster();
    const one = open("one");
    one.state.claimMs = 500;
    await one.start();
    one.ownership.fenced();
    await pass(400);
    expect(one.heard).toEqual(["dropAll"]);
    await pass(2_000);
    expect(one.heard).toEqual(["dropAll", "gain"]);
    expect(one.working).toEqual(new Set(units));
  });

  it("ends the work when the store does not have its units any more, as after a fail-over", async () => {
    const { start, pass, database } = openCluster();
    const one = await start("one");
    database.units.delete("key:7");
    await pass(5_100);
    expect(one.heard.slice(1, 3)).toEqual(["dropAll", "gain"]);
    expect(one.working).toEqual(new Set(units));
    expect(database.owned()).toEqual({ one: units.toSorted() });
  });
});
