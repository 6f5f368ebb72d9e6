import { describe, expect, it } from "vitest";
import { FencedError } from "../../src/store/store-error.ts";
import {
  connect,
  execute,
  leaseMs,
  openThroughProxy,
  openTwo,
  replica,
  setLease,
  silence,
} from "./support/replica-stores.ts";
import { until } from "./support/until.ts";

describe("a claim", () => {
  it("waits for a transaction of the replica whose lease has ended, and its new owner reads it", async () => {
    const { one, other } = await openTwo();
    await one.cluster.claim(["a"]);
    const begun = Promise.withResolvers<void>();
    const go = Promise.withResolvers<void>();
    const writing = one.kysely.transaction().execute(async (trx) => {
      await trx.insertInto("server_names").values({ name: "last" }).execute();
      begun.resolve();
      await go.promise;
    });
    await begun.promise;
    await setLease(one, 0);
    let hasClaimed = false;
    const claiming = other.cluster.claim(["a"]).then(async ({ takenOver }) => {
      hasClaimed = true;
      return {
        takenOver,
        names: await execute(`select name from ${one.settings.schema}.server_names`),
      };
    });
    const waits = `select 1 from pg_stat_activity where wait_event_type = 'Lock'
      and query like 'delete from replica_commits%'`;
    await until("waits", async () => (await execute(waits)).length > 0);
    expect(hasClaimed).toBe(false);
    go.resolve();
    await writing;
    expect(await claiming).toEqual({ takenOver: ["a"], names: [{ name: "last" }] });
    await expect(one.store.silences.add(silence("a"))).rejects.toThrow(FencedError);
  });

  it("is not held up by a replica that is frozen within a transaction", async () => {
    const { one, other } = await openTwo();
    await one.cluster.claim(["a"]);
    const begun = Promise.withResolvers<void>();
    const go = Promise.withResolvers<void>();
    const writing = one.kysely.transaction().execute(async (trx) => {
      await trx.insertInto("server_names").values({ name: "never" }).execute();
      begun.resolve();
      await go.promise;
    });
    await begun.promise;
    await setLease(one, 0);
    const startedMs = performance.now();
    expect(await other.cluster.claim(["a"])).toEqual({ claimed: ["a"], takenOver: ["a"] });
    expect(performance.now() - startedMs).toBeLessThan(8_000);
    go.resolve();
    await expect(writing).rejects.toThrow(/connection|Nothing was written/i);
    await until("is fenced", async () => {
      await one.store.silences.add(silence("a")).catch(() => {});
      return one.fenced.length > 0;
    });
    expect(await execute(`select name from ${one.settings.schema}.server_names`)).toEqual([]);
  });

  it("and a renewal never both succeed for a lease that is about to end, 300 times", async () => {
    const { one, other } = await openTwo();
    const client = await connect();
    const outcomes = { renewed: 0, takenOver: 0 };
    for (let run = 0; run < 300; run += 1) {
      const id = await one.cluster.join(replica);
      await one.cluster.claim(["a"]);
      // Some have ended, and some go on: both happen on any machine.
      await client.query(
        `update ${one.settings.schema}.replicas set expires_at_ms =
           (extract(epoch from clock_timestamp()) * 1000)::bigint + $1 where id = $2`,
        [[0, 1, 2, 3, leaseMs][run % 5], id],
      );
      const [view, { claimed }] = await Promise.all([
        one.cluster.renew(leaseMs),
        other.cluster.claim(["a"]),
      ]);
      // Neither may happen, too: the lease ended between the two.
      expect(view !== null && claimed.length > 0, `run ${run}`).toBe(false);
      if (view !== null) outcomes.renewed += 1;
      if (claimed.length > 0) outcomes.takenOver += 1;
      await other.cluster.release(["a"]);
    }
    expect(outcomes.renewed).toBeGreaterThanOrEqual(60);
    expect(outcomes.takenOver).toBeGreaterThanOrEqual(60);
  });

  it("of several replicas at once gives a unit to one of them, 100 times", async () => {
    const { one, other } = await openTwo();
    for (let run = 0; run < 100; run += 1) {
      const names = [`a${run}`, `b${run}`];
      const all = await Promise.all([one, other].map(({ cluster }) => cluster.claim(names)));
      expect(all.flatMap(({ claimed }) => claimed).toSorted()).toEqual(names);
    }
  });
});

describe("a claim that is not answered", () => {
  async function claimHeld() {
    const { proxy, cut, cluster } = await openThroughProxy();
    const held = Promise.withResolvers<void>();
    cut((part) => {
      if (!part.includes("with stale as")) return null;
      held.resolve();
      return "hold";
    });
    const outcome = cluster.claim(["a"]).then(
      () => "claimed",
      () => "failed",
    );
    await held.promise;
    cut(() => null);
    return { proxy, cluster, outcome, fromMs: performance.now() };
  }

  it("fails at once when the lease is lost, and the replica joins again", async () => {
    const { proxy, cluster, outcome, fromMs } = await claimHeld();
    cluster.interrupt();
    expect(await outcome).toBe("failed");
    expect(performance.now() - fromMs).toBeLessThan(3_000);
    proxy.release();
    await cluster.join(replica);
    expect(await cluster.claim(["a"])).toMatchObject({ claimed: ["a"] });
  });

  it("fails within seconds while the lease is held", async () => {
    const { proxy, outcome, fromMs } = await claimHeld();
    expect(await outcome).toBe("failed");
    expect(performance.now() - fromMs).toBeLessThan(13_000);
    proxy.release();
  });
});
