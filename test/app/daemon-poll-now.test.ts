import { describe, expect, it } from "vitest";
import { pollTargets } from "../../src/api/operations/targets.ts";
import { runCommand } from "../support/run-command.ts";
import { watchWorld } from "../support/watched-world.ts";
import type { WatchedWorld } from "../support/watched-world.ts";

const polls = async (world: WatchedWorld): Promise<string | undefined> =>
  /^sandwatch_api_requests_total\{.*operation="list_sandboxes".*\} .*$/gm
    .exec(await world.metrics())
    ?.at(0);

describe("poll --now", () => {
  it("asks with a key that was refused a short time ago, and the target is up again", async () => {
    const world = await watchWorld();
    world.fail({ kind: "status", status: 401 });
    await world.poll(4);
    world.fail();
    const before = await polls(world);
    await world.poll();
    expect(await polls(world)).toBe(before);
    expect(await world.daemon().api(pollTargets, {})).toMatchObject({
      targets: [{ region: "us", key: "research", up: true }],
    });
    expect(await polls(world)).not.toBe(before);
  });

  it("stores what it observes and notifies as a scheduled poll does", async () => {
    const world = await watchWorld();
    await world.poll();
    world.show(0, "error");
    const url = await world.address();
    const { code, out, err } = await runCommand(["poll", "--now", "--url", url]);
    expect([code, err]).toEqual([0, ""]);
    expect(out).toMatch(/us +research +ok .* 1 /);
    await world.poll();
    expect(world.alerts).toMatchObject([
      { type: "incident.firing", data: { rule: "server-error" } },
    ]);
  });

  it("waits for a poll that is in progress instead of beginning another", async () => {
    const world = await watchWorld();
    const both = [pollTargets, pollTargets].map((each) => world.daemon().api(each, {}));
    await Promise.all(both);
    expect(await polls(world)).toMatch(/ 1$/);
  });

  it("polls at most 100 targets, so that it does not use up the rate limits of all keys", async () => {
    const keys = Array.from({ length: 101 }, (_, index) => `k${index}`);
    const world = await watchWorld({ keys, servers: 1 });
    const { api } = world.daemon();
    await expect(api(pollTargets, {})).rejects.toMatchObject({
      kind: "conflict",
      message: "These are 101 targets. Choose at most 100 by region and key.",
    });
    expect(await polls(world)).toMatch(/ 0$/);
    const { targets } = await api(pollTargets, { key: keys.slice(1) });
    expect(targets.filter(({ up }) => up)).toHaveLength(100);
  });
});
