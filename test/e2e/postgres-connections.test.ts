import { describe, expect, it } from "vitest";
import { idsIn, leaseMs, openThroughProxy, silence } from "./support/replica-stores.ts";

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
