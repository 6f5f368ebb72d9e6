import { setImmediate } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { openAccess } from "../../src/lib/access.ts";
import { Secret } from "../../src/lib/secret.ts";
import { createHeavyTurns } from "../../src/web/heavy-turns.ts";
import { serveWeb } from "./support/serve-web.ts";

/** Reads that end when they are released, in the order in which they began. */
function heldReads() {
  const takeTurn = createHeavyTurns();
  const begun: string[] = [];
  const held: (() => void)[] = [];
  const read = (owner: string, what = owner, left?: () => boolean) =>
    takeTurn(
      owner,
      () => {
        begun.push(what);
        const { promise, resolve } = Promise.withResolvers<void>();
        held.push(resolve);
        return promise;
      },
      left,
    );
  const release = async () => {
    held.shift()?.();
    await setImmediate();
  };
  return { read, begun, release };
}

describe("reads of much history", () => {
  it("are two at a time, the next one of the client that has the fewest", async () => {
    const { read, begun, release } = heldReads();
    const all = ["ann 1", "ann 2", "ann 3", "bob 1", "bob 2", "eve 1"].map((what) =>
      read(what.slice(0, 3), what),
    );
    await setImmediate();
    expect(begun).toEqual(["ann 1", "ann 2"]);
    for (const _ of all) await release();
    await Promise.all(all);
    expect(begun).toEqual(["ann 1", "ann 2", "bob 1", "ann 3", "bob 2", "eve 1"]);
  });

  it("are refused to a client of whom twenty wait, and to all when a hundred wait", async () => {
    const { read, begun, release } = heldReads();
    const owners = ["a", "b", "c", "d", "e", "f"];
    const all = owners.flatMap((owner) => Array.from({ length: 25 }, () => read(owner)));
    const settled = Promise.allSettled(all);
    await setImmediate();
    while (begun.length < 102) await release();
    for (let left = 0; left < 2; left += 1) await release();
    const results = await settled;
    const done = owners.map(
      (_, at) =>
        results.slice(at * 25, at * 25 + 25).filter((each) => each.status === "fulfilled").length,
    );
    expect(done).toEqual([22, 20, 20, 20, 20, 0]);
  });

  it("go on after one that failed, and are not begun for a client that has left", async () => {
    const { read, begun, release } = heldReads();
    const takeTurn = createHeavyTurns();
    await expect(takeTurn("ann", () => Promise.reject(new Error("broken")))).rejects.toThrow(
      "broken",
    );
    expect(await takeTurn("ann", () => Promise.resolve("read"))).toBe("read");

    const reads = [read("a"), read("b"), read("c", "c", () => true), read("d")];
    const settled = Promise.allSettled(reads);
    await setImmediate();
    await release();
    await release();
    await release();
    await settled;
    expect(begun).toEqual(["a", "b", "d"]);
  });

  it("of the API are answered 429 to a viewer of whom twenty wait, and others still wait", async () => {
    const finish = Promise.withResolvers<void>();
    const token = (name: string) => ({ name, role: "viewer", token: new Secret(name) }) as const;
    const { address } = await serveWeb({
      settings: { ...openAccess, tokens: [token("ann"), token("bob")] },
      api: {
        call: ({ isHeavy }) => (isHeavy ? finish.promise.then(() => ({})) : Promise.resolve({})),
        events: () => Promise.reject(new Error("not called")),
      },
    });
    const refused: Response[] = [];
    const ask = async (name: string): Promise<number> => {
      const headers = { authorization: `Bearer ${name}` };
      const report = `${address}/api/v1/occupancy?from=365d&by=server`;
      const response = await fetch(report, { headers });
      if (response.status === 429) refused.push(response);
      // Two are being read.
      if (refused.length !== 30 - 2 - 20) return response.status;
      const headersOfBob = { authorization: "Bearer bob" };
      await fetch(`${address}/api/v1/targets`, { headers: headersOfBob });
      finish.resolve();
      return response.status;
    };
    const ofAnn = Array.from({ length: 30 }, () => ask("ann"));
    const ofBob = ask("bob");
    expect((await Promise.all(ofAnn)).filter((status) => status === 200)).toHaveLength(22);
    expect(await ofBob).toBe(200);
    expect(refused.map(({ headers }) => headers.get("retry-after"))).toEqual(Array(8).fill("10"));
  });

  it("of the API wait for each other, and other requests do not wait for them", async () => {
    const finish = Promise.withResolvers<void>();
    let [inProgress, most] = [0, 0];
    const { get, address } = await serveWeb({
      api: {
        async call({ isHeavy }) {
          if (!isHeavy) return {};
          inProgress += 1;
          most = Math.max(most, inProgress);
          await finish.promise;
          inProgress -= 1;
          return {};
        },
        events: () => Promise.reject(new Error("not called")),
      },
    });
    const paths = ["occupancy", "occupancy/series", "insights"];
    const reports = Array.from({ length: 10 }, (_, at) =>
      fetch(`${address}/api/v1/${paths[at % 3]}?from=${at + 1}h`),
    );
    expect((await get("/api/v1/targets")).status).toBe(200);
    finish.resolve();
    expect((await Promise.all(reports)).map(({ status }) => status)).toEqual(Array(10).fill(200));
    expect(most).toBe(2);
  });
});
