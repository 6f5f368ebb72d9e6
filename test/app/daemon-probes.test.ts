import { describe, expect, it } from "vitest";
import { listProbes } from "../../src/api/operations/probes.ts";
import { events, notifications } from "../support/heard.ts";
import { apiKey, watchWorld } from "../support/watched-world.ts";
import type { WatchedWorld, WorldOptions } from "../support/watched-world.ts";

const rules = [{ name: "probe-failing", on: "probe", failing: { polls: 2 } }];
const login = { name: "login", operation: "user", id: "user-1", every: "5s" };
const unknownUser = { kind: "status", status: 404, operation: "get_user" } as const;

function probing(options: WorldOptions = {}): Promise<WatchedWorld> {
  return watchWorld({ probes: [login], alerts: { rules }, ...options });
}

const firing = "probe-failing firing";
const resolved = "probe-failing resolved";

describe("a probe that fails", () => {
  it("is notified once after N runs, over a restart, and once when it succeeds again", async () => {
    const world = await probing();
    await world.poll();
    world.fail(unknownUser);
    await world.poll();
    expect(notifications(world)).toEqual([]);
    await world.poll(2);
    await world.restart();
    await world.poll(2);
    expect(notifications(world)).toEqual([firing]);
    world.fail();
    await world.poll();
    expect(notifications(world)).toEqual([firing, resolved]);
    const id = world.alerts[0]?.data.incidents[0]?.id;
    const subject = { subject: "probe", probe: "login", region: "us", key: "research" };
    expect(world.alerts.map(({ data }) => data)).toMatchObject([
      {
        summary: "probe login failing in us/research since 09:30 UTC (http_error)",
        incidents: [{ ...subject, server_id: null }],
      },
      {
        summary: "Resolved after 25 s: probe login failing in us/research",
        incidents: [{ ...subject, id, resolved_reason: "recovered" }],
      },
    ]);
    expect(world.peer.refused).toEqual([]);
  });

  it.each([[{ probes: [{ ...login, name: "other" }] }], [{ alerts: { rules: [] } }]])(
    "is resolved when it or its rule is removed from the configuration: %j",
    async (changed) => {
      const world = await probing();
      world.fail(unknownUser);
      await world.poll(2);
      await world.restart(changed);
      await world.poll();
      expect(notifications(world)).toEqual([firing, resolved]);
      expect(world.alerts[1]?.data.incidents[0]?.resolved_reason).toBe("rule_removed");
    },
  );

  it("is not notified while its target is notified as down", async () => {
    const both = [{ name: "down", on: "target", failing: { polls: 1 } }, ...rules];
    const world = await probing({ alerts: { rules: both } });
    world.fail({ kind: "status", status: 500 });
    await world.poll(5);
    world.fail(unknownUser);
    await world.poll(2);
    expect(notifications(world)).toEqual(["down firing", "down resolved", firing]);
  });

  it("does not keep sandwatch from stopping while no answer comes", async () => {
    const world = await probing();
    world.fail({ kind: "hang", operation: "get_user" });
    world.daemon().watch();
    await world.daemon().stop();
    expect(events(world)).not.toContain("probe.failed");
  });
});

it("what is shown of probes holds neither the id that is asked for, nor the key, nor anything of the answer", async () => {
  const fields = { userId: "another", createdAt: "another" };
  const world = await probing({ probes: [{ ...login, id: "user-2", expect: { fields } }] });
  await world.poll(2);
  const page = await (await fetch(await world.address())).text();
  const api = await world.daemon().api(listProbes, {});
  const all = page + JSON.stringify([api, world.alerts, await world.metrics(), world.log]);
  expect(all).toContain("field userId has another value");
  expect([all.includes("user-2"), all.includes(apiKey)]).toEqual([false, false]);
});
