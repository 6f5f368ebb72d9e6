import { describe, expect, it } from "vitest";
import { listProbes } from "../../src/api/operations/probes.ts";
import { notifications } from "../support/heard.ts";
import { apiKey, watchWorld } from "../support/watched-world.ts";
import type { WatchedWorld, WorldOptions } from "../support/watched-world.ts";

const rules = [{ name: "probe-failing", on: "probe", failing: { polls: 2 } }];
const login = { name: "login", operation: "user", id: "user-1", every: "5s" };
const unknownUser = { kind: "status", status: 404, operation: "get_user" } as const;

function probing(options: WorldOptions = {}): Promise<WatchedWorld> {
  return watchWorld({ probes: [login], alerts: { rules }, ...options });
}

function logged(world: WatchedWorld, event: string): number {
  return world.log.filter((line) => line.event === event).length;
}

describe("a probe that fails", () => {
  it("is notified once after N runs, over a restart, and once when it succeeds again", async () => {
    const world = await probing();
    await world.poll();
    world.fail(unknownUser);
    await world.poll();
    expect(notifications(world)).toEqual([]);
    await world.poll(2);
    expect(notifications(world)).toEqual(["probe-failing firing"]);
    expect(world.alerts[0]?.data).toMatchObject({
      summary: "probe login failing (http_error) in us (research)",
      incidents: [
        { subject: "probe", probe: "login", region: "us", key: "research", server_id: null },
      ],
    });
    await world.restart();
    await world.poll(2);
    expect(notifications(world)).toEqual(["probe-failing firing"]);
    world.fail();
    await world.poll();
    expect(notifications(world)).toEqual(["probe-failing firing", "probe-failing resolved"]);
    const [fired, resolved] = world.alerts.map(({ data }) => data.incidents[0]);
    expect(resolved).toMatchObject({ id: fired?.id, resolved_reason: "recovered" });
    expect(world.alerts[1]?.data.summary).toBe("probe login no longer failing in us (research)");
    expect(world.peer.refused).toEqual([]);
  });

  it("is resolved when it or its rule is removed from the configuration", async () => {
    for (const changed of [{ probes: [{ ...login, name: "other" }] }, { alerts: { rules: [] } }]) {
      const world = await probing();
      world.fail(unknownUser);
      await world.poll(2);
      await world.restart(changed);
      await world.poll();
      expect(notifications(world)).toEqual(["probe-failing firing", "probe-failing resolved"]);
      expect(world.alerts[1]?.data.incidents[0]?.resolved_reason).toBe("rule_removed");
    }
  });

  it("is not notified while its target is notified as down", async () => {
    const both = [{ name: "down", on: "target", failing: { polls: 1 } }, ...rules];
    const world = await probing({ alerts: { rules: both } });
    world.fail({ kind: "status", status: 500 });
    await world.poll(5);
    expect(notifications(world)).toEqual(["down firing"]);
    world.fail(unknownUser);
    await world.poll(2);
    expect(notifications(world)).toEqual(["down firing", "down resolved", "probe-failing firing"]);
  });

  it("does not keep sandwatch from stopping while no answer comes", async () => {
    const world = await probing();
    world.fail({ kind: "hang", operation: "get_user" });
    world.daemon().watch();
    await world.daemon().stop();
    expect(logged(world, "probe.failed")).toBe(0);
  });
});

describe("what there is to see of probes", () => {
  const universes = { name: "worlds", operation: "universes", expect: { at_least: 99 } };

  it("is in the metrics", async () => {
    const world = await watchWorld({ probes: [login, universes, { ...universes, name: "more" }] });
    expect(await world.metrics()).not.toMatch(/^sandwatch_probe_success\{/m);
    await world.poll();
    const lines = (await world.metrics()).split("\n");
    const labels = 'region="us",key="research"';
    expect(lines).toContain(
      `sandwatch_probe_success{probe="login",${labels},operation="get_user"} 1`,
    );
    expect(lines).toContain(
      `sandwatch_probe_success{probe="worlds",${labels},operation="list_universes"} 0`,
    );
    expect(lines).toContain(
      `sandwatch_probe_duration_seconds{probe="login",${labels},operation="get_user"} 0`,
    );
    expect(lines.filter((line) => line.startsWith("sandwatch_universes{"))).toEqual([
      expect.stringMatching(/^sandwatch_universes\{region="us",key="research"\} [3-6]$/),
    ]);
    expect(lines.join()).toMatch(
      /sandwatch_user_last_used_timestamp_seconds\{probe="login",region="us",key="research"\} 1\.?\d+/,
    );
  });

  it("holds neither the id that is asked for, nor the key, nor anything of the answer", async () => {
    const fields = { userId: "another", createdAt: "another" };
    const probe = { ...login, id: "user-2", expect: { fields } };
    const world = await probing({ probes: [probe] });
    await world.poll(2);
    const page = await (await fetch(await world.address())).text();
    const api = JSON.stringify(await world.daemon().api(listProbes, {}));
    const messages = JSON.stringify(world.alerts);
    const all = [page, api, messages, await world.metrics(), JSON.stringify(world.log)].join("\n");
    expect(all).toContain("field userId has another value");
    expect(all).not.toContain("user-2");
    expect(all).not.toContain(apiKey);
  });
});
