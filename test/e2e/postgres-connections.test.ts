import { describe, expect, it } from "vitest";
import { createFakeClock } from "../support/fake-clock.ts";
import {
  execute,
  idsIn,
  leaseMs,
  openThroughProxy,
  replica,
  replicaIds,
  silence,
} from "./support/replica-stores.ts";

describe("connections that lead nowhere, without having ended", () => {
  const outcomeOf = (promise: Promise<unknown>) =>
    promise.then(
      () => "done",
      () => "failed",
    );

  it("fail what is written within seconds, though nothing else is asked", async () => {
    const { store, cut } = await openThroughProxy();
    cut((part) => (part.includes("silences") ? "hold" : null));
    const fromMs = performance.now();
    expect(await outcomeOf(store.silences.add(silence("a")))).toBe("failed");
    expect(performance.now() - fromMs).toBeLessThan(14_000);
  });

  it("are made again once one of them did not answer the renewal of the lease, and no lease is lost", async () => {
    const { proxy, store, cluster, settings } = await openThroughProxy();
    await cluster.claim(["a"]);
    await Promise.all([store.check(), store.check()]);
    proxy.strand();
    const waiting = [store.silences.add(silence("a")), store.check(), cluster.claim(["b"])];
    const outcomes = Promise.all(waiting.map(outcomeOf));
    const fromMs = performance.now();
    expect(await outcomeOf(cluster.renew(leaseMs))).toBe("failed");
    expect(await outcomes).toEqual(["failed", "failed", "failed"]);
    // Of the readers, one was idle.
    await Promise.all([store.check(), store.check(), store.silences.add(silence("b"))]);
    expect(await cluster.claim(["b"])).toMatchObject({ claimed: ["b"] });
    expect(performance.now() - fromMs).toBeLessThan(8_000);
    expect(await cluster.renew(leaseMs)).not.toBeNull();
    expect(await idsIn(settings.schema)).toEqual(["b"]);
  });
});

describe("a replica that has no connection to write with, but one to renew its lease", () => {
  async function openLosing() {
    const clock = createFakeClock();
    let unwritable = 0;
    const cluster = { leaseMs: 15_000, onUnwritable: () => void (unwritable += 1) };
    const one = await openThroughProxy({ clock, cluster });
    const failAfter = async (ms: number): Promise<void> => {
      clock.advance(ms);
      await expect(one.store.silences.add(silence("never"))).rejects.toThrow(/PostgreSQL/);
    };
    return {
      ...one,
      clock,
      unwritable: () => unwritable,
      failAfter,
      async lose(): Promise<void> {
        one.proxy.refuse(true);
        // That of the writer alone has a lock.
        await execute("select pg_terminate_backend(pid) from pg_locks where locktype = 'advisory'");
        await failAfter(0);
      },
    };
  }

  it("is to lose it when all that was to be written has failed for as long as a lease", async () => {
    const { proxy, store, cluster, clock, ...one } = await openLosing();
    await one.lose();
    await one.failAfter(14_000);
    proxy.refuse(false);
    clock.advance(500);
    await store.silences.add(silence("a"));
    clock.advance(3_600_000);
    await one.lose();
    await one.failAfter(14_000);
    expect(one.unwritable()).toBe(0);
    await one.failAfter(1_000);
    expect(one.unwritable()).toBe(1);
    expect(await cluster.renew(leaseMs)).not.toBeNull();
  });

  it("joins again only once it can write, and leaves no replica behind before that", async () => {
    const { proxy, store, cluster, ...one } = await openLosing();
    await one.lose();
    await expect(cluster.join(replica)).rejects.toThrow(/cannot be reached/);
    expect(await replicaIds(one.settings)).toEqual([one.id]);
    proxy.refuse(false);
    const id = await cluster.join(replica);
    await store.silences.add(silence("a"));
    expect(await replicaIds(one.settings)).toEqual([id]);
    expect(await idsIn(one.settings.schema)).toEqual(["a"]);
  });
});
