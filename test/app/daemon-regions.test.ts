import { describe, expect, it } from "vitest";
import { listIncidents } from "../../src/api/operations/incidents.ts";
import { testTimeoutMs } from "../support/test-timeout.ts";
import { watchWorld, type WatchedWorld, type WorldOptions } from "../support/watched-world.ts";

const keys = Array.from({ length: 6 }, (_, index) => `key-${index}`);

/** What was notified: "firing eu: all 6 keys failing …". */
const notified = ({ alerts }: WatchedWorld): readonly string[] =>
  alerts.map(({ type, data }) => `${type.replace("incident.", "")} ${data.summary}`);

const incidentsOf = async (world: WatchedWorld, rule: string) =>
  (await world.daemon().api(listIncidents, { rule, state: "firing" })).incidents;

describe("a region that fails as a whole", () => {
  const watch = (more: Partial<WorldOptions> = {}) =>
    watchWorld({ regions: ["eu"], keys, ...more });

  it("is one notification and one end, and its targets are inhibited by it", async () => {
    const world = await watch();
    await world.poll();
    world.fail({ kind: "status", status: 400 });
    await world.poll(6);
    expect(notified(world)).toEqual([
      "firing eu: all 6 keys failing since 09:30 UTC (HTTP 400); 18 servers unmonitored",
    ]);
    const [region] = await incidentsOf(world, "region-down");
    expect(region).toMatchObject({ subject: "region", region: "eu", key: null });
    const targets = await incidentsOf(world, "target-down");
    expect(targets.map((each) => [each.inhibited_by, each.muted, each.receivers])).toEqual(
      keys.map(() => [region?.id, false, []]),
    );
    world.fail();
    await world.poll(2);
    expect(notified(world).slice(1)).toEqual([
      expect.stringMatching(/^resolved Resolved after \d+ s: eu failing( as a whole)?$/),
    ]);
    expect(await incidentsOf(world, "target-down")).toEqual([]);
  });

  it("that is down from the start says nothing of servers", async () => {
    const world = await watch();
    world.fail({ kind: "status", status: 400 });
    await world.poll(2);
    expect(notified(world)).toEqual(["firing eu: all 6 keys failing since 09:30 UTC (HTTP 400)"]);
  });

  it("ends once when its rule is changed", async () => {
    const rules = (more: object) => ({
      rules: [{ name: "region-down", on: "region", failing: { polls: 2 }, ...more }],
    });
    const world = await watch({ alerts: rules({ keep_firing_for: "1h" }) });
    world.fail({ kind: "status", status: 400 });
    await world.poll(2);
    world.fail();
    await world.poll(2);
    await world.restart({ alerts: rules({}) });
    await world.poll(2);
    expect(notified(world).slice(1)).toEqual([expect.stringMatching(/^resolved Alert ended/)]);
  });

  it("stays one over a restart, and notifies of the targets that are down when it is over", async () => {
    const world = await watch();
    world.fail({ kind: "status", status: 400 });
    await world.poll(4);
    await world.restart();
    await world.poll(2);
    expect(notified(world)).toHaveLength(1);
    world.fail({ kind: "status", status: 400, key: "key-3" });
    await world.poll(3);
    expect(notified(world).slice(1)).toEqual([
      expect.stringMatching(/^resolved Resolved after \d+ s: eu failing( as a whole)?$/),
      expect.stringMatching(/^firing eu\/key-3 down since 09:30 UTC/),
    ]);
  });

  it("resolves after keep_firing_for by time alone", async () => {
    const rule = { name: "region-down", on: "region", failing: { polls: 2 } };
    const world = await watch({ alerts: { rules: [{ ...rule, keep_firing_for: "10m" }] } });
    world.fail({ kind: "status", status: 400 });
    await world.poll(2);
    world.fail();
    await world.poll(2);
    const firing = () => incidentsOf(world, "region-down");
    expect(await firing()).toHaveLength(1);
    world.clock.advance(10 * 60_000);
    await expect.poll(firing, { timeout: testTimeoutMs }).toEqual([]);
  });

  it("is judged by the keys that are configured, not by those that were", async () => {
    const world = await watch();
    const failing = (...some: readonly string[]) =>
      world.fail(...some.map((key) => ({ kind: "status", status: 400, key }) as const));
    failing(...keys.slice(3));
    await world.poll(2);
    await world.restart({ keys: keys.slice(0, 4) });
    await world.poll(2);
    const one = ["firing eu: 3 of 6 keys", "resolved Resolved after"];
    expect(notified(world).slice(0, 2)).toEqual(one.map((text) => expect.stringContaining(text)));
    failing(...keys.slice(2, 4));
    await world.poll(2);
    expect(notified(world).at(-1)).toContain("2 of 4 keys failing");
  });

  it("resolves after the store took nothing, without any further failure", async () => {
    let isWell = true;
    const world = await watch({
      wrapStore: (store) => ({
        ...store,
        regions: {
          ...store.regions,
          async read(region) {
            if (!isWell) throw new Error("disk I/O error");
            return store.regions.read(region);
          },
        },
      }),
    });
    world.fail({ kind: "status", status: 400 });
    await world.poll(2);
    world.fail();
    isWell = false;
    await world.poll(2);
    isWell = true;
    await world.poll();
    expect(notified(world).slice(1)).toEqual([
      expect.stringMatching(/^resolved Resolved after \d+ s: eu failing( as a whole)?$/),
    ]);
  });
});

it("single failed polls of a target are not flapping", async () => {
  const world = await watchWorld();
  for (let time = 0; time < 5; time += 1) {
    world.fail({ kind: "status", status: 400 });
    await world.poll();
    world.fail();
    await world.poll(20);
  }
  expect(notified(world)).toEqual([]);
});

it("a region that is down again within an hour is flapping, and its targets are inhibited", async () => {
  const world = await watchWorld({ regions: ["eu"], keys });
  for (let time = 0; time < 4; time += 1) {
    world.fail({ kind: "status", status: 400 });
    await world.poll(6);
    world.fail();
    await world.poll(20);
  }
  expect(notified(world)).toEqual([
    expect.stringMatching(/^firing eu: all 6 keys/),
    "resolved Resolved after 30 s: eu failing",
    expect.stringMatching(
      /^firing eu: flapping since .* \(all 6 keys failing 2 times in 1h, HTTP 400\)/,
    ),
  ]);
});
