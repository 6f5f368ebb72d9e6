import { setImmediate } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { longestLeaseMs } from "../../src/fleet/replicas.ts";
import { migrations } from "../../src/store/migrations.ts";
import { openPostgres } from "../../src/store/postgres/database.ts";
import { FencedError, StoreUnavailableError } from "../../src/store/store-error.ts";
import { postgresSettings } from "../store/support/postgres.ts";
import {
  execute,
  folder,
  freshSettings,
  idsIn,
  leaseMs,
  open,
  openJoined,
  openThroughProxy,
  openTwo,
  replica,
  setLease,
  silence,
} from "./support/replica-stores.ts";
import { until } from "./support/until.ts";

describe("replicas on one store", () => {
  it("see one another, and what each owns", async () => {
    const { one, other } = await openTwo();
    expect(await one.cluster.claim(["a", "b"])).toEqual({ claimed: ["a", "b"], takenOver: [] });
    expect(await other.cluster.claim(["b", "c"])).toEqual({ claimed: ["c"], takenOver: [] });
    const { nowMs, replicas, units } = await other.view();
    expect(await one.cluster.renew(leaseMs)).toMatchObject({ units });
    const { leaseMs: _, ...shown } = replica;
    const more = {
      generation: 1,
      takesUnits: true,
      startedAtMs: expect.any(Number),
      expiresAtMs: expect.any(Number),
    };
    expect(replicas).toEqual([one, other].map(({ id }) => ({ id, ...shown, ...more })));
    expect(Math.abs(nowMs - Date.now())).toBeLessThan(60_000);
    expect(units.map((unit) => [unit.name, unit.replica])).toEqual([
      ["a", one.id],
      ["b", one.id],
      ["c", other.id],
    ]);
  });

  it("write beside one another, and both leave what they have released", async () => {
    const { one, other } = await openTwo();
    await Promise.all([
      one.store.silences.add(silence("a")),
      other.store.silences.add(silence("b")),
    ]);
    expect(await idsIn(one.settings.schema)).toEqual(["a", "b"]);
    await one.cluster.claim(["a", "b"]);
    await one.cluster.release(["a"]);
    expect(await other.cluster.claim(["a", "b"])).toEqual({ claimed: ["a"], takenOver: [] });
    await one.cluster.leave();
    expect(await other.cluster.claim(["a", "b"])).toEqual({ claimed: ["a", "b"], takenOver: [] });
    expect((await other.view()).replicas.map(({ id }) => id)).toEqual([other.id]);
  });

  it("connect no more once they are closed, though something still asks", async () => {
    const { store, cluster } = await openJoined();
    await store.close();
    await expect(cluster.token()).rejects.toThrow("closed");
    await expect(cluster.leave()).rejects.toThrow("closed");
  });

  it("have a higher generation with a configuration that was first seen later", async () => {
    const one = await open();
    const other = await open(one.settings);
    await one.cluster.join(replica);
    await other.cluster.join({ ...replica, configuration: "b" });
    await one.cluster.join(replica);
    const { replicas } = await one.view();
    const generations = replicas.map(
      ({ configuration, generation }) => [configuration, generation] as const,
    );
    expect(new Map(generations)).toEqual(
      new Map([
        ["a", 1],
        ["b", 2],
      ]),
    );
  });

  it("get no units while another one takes units that has a newer configuration", async () => {
    const { one, other: stopping } = await openTwo();
    const newer = await open(one.settings);
    await newer.cluster.join({ ...replica, configuration: "b" });
    // What it decided before the newer one joined.
    expect((await one.cluster.claim(["a"])).claimed).toEqual([]);
    await newer.cluster.takeUnits(false);
    await stopping.cluster.takeUnits(false);
    expect((await newer.cluster.claim(["a"])).claimed).toEqual([]);
    expect((await stopping.cluster.claim(["a"])).claimed).toEqual([]);
    expect((await one.cluster.claim(["a"])).claimed).toEqual(["a"]);
    await newer.cluster.leave();
    await one.cluster.join(replica);
    expect((await one.cluster.claim(["a"])).claimed).toEqual([]);
    await one.cluster.takeUnits(true);
    expect((await one.cluster.claim(["a"])).claimed).toEqual(["a"]);
  });

  it("create the store once when they start together, and exclude a process that is none", async () => {
    const settings = freshSettings();
    const all = await Promise.all([open(settings), open(settings), open(settings)]);
    await Promise.all(all.map(({ cluster }) => cluster.join(replica)));
    const tokens = await Promise.all(all.map(({ cluster }) => cluster.token()));
    expect(new Set(tokens.map((token) => token.reveal())).size).toBe(1);
    expect(tokens[0]?.reveal()).toMatch(/^[0-9a-f]{64}$/);
    await expect(openPostgres(settings)).rejects.toThrow(/is in use by another sandwatch process/);
    await Promise.all(all.map(({ store }) => store.close()));
    const { close } = await openPostgres(settings);
    expect(await execute(`select id from ${settings.schema}.replicas`)).toEqual([]);
    await expect(open(settings)).rejects.toThrow(/in use by a sandwatch process without `cluster`/);
    await close();
  });

  it("refuse a newer store, and bring an older one to their version only if no other one runs", async () => {
    const one = await open();
    const more = [...migrations, () => ["create table more (a bigint)"]];
    await expect(open(one.settings, { migrations: more })).rejects.toThrow(
      /older version of sandwatch, and replicas of it run\. Stop all replicas/,
    );
    await one.store.close();
    const newer = await open(one.settings, { migrations: more });
    await open(one.settings, { migrations: more });
    await expect(open(one.settings)).rejects.toThrow(/by a newer version/);
    await newer.store.close();
  });

  it("keep no lease, claim and write nothing once a newer version has changed the schema while they were cut off", async () => {
    const { proxy, settings, ...one } = await openThroughProxy();
    await one.cluster.claim(["a"]);
    proxy.refuse(true);
    proxy.drop();
    const more = [...migrations, () => ["create table more (a bigint)"]];
    const direct = postgresSettings(folder, settings.schema);
    const newer = await until("opened", () => open(direct, { migrations: more }));
    proxy.refuse(false);
    const isNewer = /written by a newer version/;
    await expect(one.store.silences.add(silence("a"))).rejects.toThrow(isNewer);
    await expect(one.store.check()).rejects.toThrow(isNewer);
    await expect(one.cluster.claim(["b"])).rejects.toThrow(isNewer);
    expect(await one.cluster.renew(leaseMs)).toBeNull();
    await expect(one.cluster.join(replica)).rejects.toThrow(isNewer);
    expect(await idsIn(settings.schema)).toEqual([]);
    expect((await newer.view()).replicas.map(({ id }) => id)).toEqual([one.id]);
  });
});

describe("a replica whose lease has ended", () => {
  it("is not renewed, writes nothing once others have noticed, and joins again", async () => {
    const { one, other } = await openTwo();
    await one.cluster.claim(["a"]);
    await one.store.silences.add(silence("a"));
    await setLease(one, 0);
    expect(await one.cluster.renew(leaseMs)).toBeNull();
    expect(await one.cluster.claim(["b"])).toEqual({ claimed: [], takenOver: [] });
    expect(await other.cluster.claim(["a"])).toEqual({ claimed: ["a"], takenOver: ["a"] });
    for (const id of ["b", "c"]) {
      await expect(one.store.silences.add(silence(id))).rejects.toThrow(FencedError);
    }
    expect(one.fenced).toHaveLength(1);
    expect(await idsIn(one.settings.schema)).toEqual(["a"]);
    const id = await one.cluster.join(replica);
    await one.store.silences.add(silence("d"));
    expect(await idsIn(one.settings.schema)).toEqual(["a", "d"]);
    expect((await other.view()).replicas.map((each) => each.id)).toEqual([other.id, id]);
  });

  it("is removed although its lease seems to last, where a stand-by with a slower clock was promoted", async () => {
    const { one, other } = await openTwo();
    await one.cluster.claim(["a"]);
    await setLease(one, longestLeaseMs - 60_000);
    expect(await other.cluster.claim(["a"])).toEqual({ claimed: [], takenOver: [] });
    await setLease(one, longestLeaseMs + 60_000);
    expect(await other.cluster.claim(["a"])).toEqual({ claimed: ["a"], takenOver: ["a"] });
    await expect(one.store.silences.add(silence("b"))).rejects.toThrow(FencedError);
  });

  it("frees what it owned when it joins again", async () => {
    const { one, other } = await openTwo();
    await one.cluster.claim(["a"]);
    await one.cluster.join(replica);
    expect(await other.cluster.claim(["a"])).toEqual({ claimed: ["a"], takenOver: [] });
  });
});

describe("a replica that has not joined, or whose lease is not held", () => {
  it("writes nothing", async () => {
    const { store, fenced } = await open();
    await expect(store.silences.add(silence("a"))).rejects.toThrow(/has not joined/);
    await expect(store.silences.add(silence("a"))).rejects.toThrow(StoreUnavailableError);
    expect(fenced).toEqual([]);
    let isHeld = true;
    const other = await openJoined(undefined, { cluster: { isHeld: () => isHeld } });
    isHeld = false;
    await expect(other.store.silences.add(silence("b"))).rejects.toThrow(
      /lease .* has ended.*It joins again by itself/,
    );
    isHeld = true;
    await other.store.silences.add(silence("c"));
    expect(await idsIn(other.settings.schema)).toEqual(["c"]);
  });
});

describe("a replica's commit whose connection is lost", () => {
  it.each(["before", "after"] as const)(
    "fails or succeeds as the server did, where it is cut %s COMMIT",
    async (when) => {
      const { store, settings, cut, fenced } = await openThroughProxy();
      cut((part) => {
        if (!part.includes("commit\0")) return null;
        cut(() => null);
        return when;
      });
      const isStored = await store.silences.add(silence("first")).then(
        () => true,
        () => false,
      );
      expect(isStored).toBe(when === "after");
      await store.silences.add(silence("second"));
      expect(await idsIn(settings.schema)).toEqual([...(isStored ? ["first"] : []), "second"]);
      expect(fenced).toEqual([]);
    },
  );

  it("fails at once when the lease has ended, as what is read does, though nothing answers", async () => {
    let isHeld = true;
    const cluster = { isHeld: () => isHeld };
    const { proxy, cut, ...one } = await openThroughProxy({ cluster });
    await one.store.check();
    const committing = Promise.withResolvers<void>();
    cut((part) => {
      if (!part.includes("commit\0")) return null;
      committing.resolve();
      return "hold";
    });
    const unwritten = one.store.silences.add(silence("a"));
    await committing.promise;
    const unread = one.store.check();
    await setImmediate();
    isHeld = false;
    const fromMs = performance.now();
    one.cluster.interrupt();
    const ended = await Promise.allSettled([unwritten, unread]);
    expect(ended.map(({ status }) => status)).toEqual(["rejected", "rejected"]);
    expect(performance.now() - fromMs).toBeLessThan(3_000);
    cut(() => null);
    proxy.release();
    isHeld = true;
    await one.cluster.join(replica);
    await one.store.silences.add(silence("b"));
    expect(await idsIn(one.settings.schema)).toContain("b");
  });

  it("is fenced where the lease has ended meanwhile", async () => {
    const one = await openThroughProxy();
    const other = await openJoined(postgresSettings(folder, one.settings.schema));
    const claiming = Promise.withResolvers<void>();
    one.cut((part) => {
      if (!part.includes("commit\0")) return null;
      // Those that follow are let through once the other one has claimed.
      one.cut(() => "before");
      void claimLater();
      return "after";
    });
    const claimLater = async (): Promise<void> => {
      await setLease(one, 0);
      await other.cluster.claim(["a"]);
      one.cut(() => null);
      claiming.resolve();
    };
    await expect(one.store.silences.add(silence("a"))).rejects.toThrow(/connection|Nothing/);
    await claiming.promise;
    await expect(one.store.silences.add(silence("b"))).rejects.toThrow(FencedError);
    expect(one.fenced).toHaveLength(1);
  });
});

describe("a notice", () => {
  it("reaches every replica of the store, also after its connection was made again", async () => {
    const { one, other } = await openTwo();
    const heard: string[] = [];
    other.cluster.onNotice((topic) => void heard.push(topic));
    const elsewhere = await openJoined();
    await elsewhere.cluster.notice("units");
    await one.cluster.notice("region eu west");
    await until("arrives", () => Promise.resolve(heard.length > 0));
    expect(heard.splice(0)).toEqual(["region eu west"]);
    await execute(
      "select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'sandwatch'",
    );
    await until("is made again", () => Promise.resolve(heard.includes("everything")));
    heard.length = 0;
    await until("is sent", () => one.cluster.notice("units").then(() => true));
    await until("arrives", () => Promise.resolve(heard.includes("units")));
  });

  it("is part of a commit with outbox items", async () => {
    const { one, other } = await openTwo();
    const heard: string[] = [];
    other.cluster.onNotice((topic) => void heard.push(topic));
    const insert = one.kysely.insertInto("outbox_items").values({
      receiver: "oncall",
      incident_id: "a",
      subject: "s",
      type: "incident.firing",
      body: "{}",
      caused_at_ms: 1,
      notification_seq: null,
    });
    await insert.execute();
    await until("arrives", () => Promise.resolve(heard.length > 0));
    expect(heard).toEqual(["outbox"]);
  });
});
