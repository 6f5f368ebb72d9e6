import { describe, expect, it } from "vitest";
import { listServers, listTargets } from "../../src/api/operations/targets.ts";
import { watchWorld } from "../support/watched-world.ts";
import { erring } from "./support/api-world.ts";

describe("targets", () => {
  it("are listed with their servers in each status and their incidents", async () => {
    const world = await erring(2);
    const { targets } = await world.daemon().api(listTargets, {});
    expect(targets).toMatchObject([
      {
        ...world.target,
        up: true,
        stale: false,
        last_success_at: "2026-11-20T09:30:10.000Z",
        last_failure_at: null,
        down_since: null,
        servers: { idle: 1, occupied: 0, error: 2, unknown: 0 },
        incidents: { pending: 0, firing: 2 },
      },
    ]);
  });

  it("are listed with since when they are down, and why", async () => {
    const world = await watchWorld();
    const { api } = world.daemon();
    expect((await api(listTargets, {})).targets).toMatchObject([{ up: null, down_since: null }]);
    await world.poll();
    world.fail({ kind: "status", status: 503 });
    await world.poll(3);
    expect((await api(listTargets, {})).targets).toMatchObject([
      {
        up: false,
        stale: true,
        last_failure_reason: "server_error",
        last_failure_detail: "HTTP 503",
        failures_in_a_row: 3,
        down_since: "2026-11-20T09:30:05.000Z",
        servers: { idle: 3 },
      },
    ]);
    const { servers } = await api(listServers, {});
    expect(servers.map(({ stale }) => stale)).toEqual([true, true, true]);
  });

  it("of unknown names are none, with a note", async () => {
    const { api } = (await watchWorld()).daemon();
    const { targets, notes } = await api(listTargets, { region: "su", key: "research" });
    expect(targets).toEqual([]);
    expect(notes).toEqual([expect.stringContaining('no region is called "su"')]);
  });
});

describe("servers", () => {
  it("are found by their ids, names, tags and statuses", async () => {
    const world = await erring(1);
    const { api } = world.daemon();
    const [id = ""] = world.serverIds;
    const { servers } = await api(listServers, { status: "error,unknown" });
    const since = "2026-11-20T09:30:10.000Z";
    expect(servers).toMatchObject([{ ...world.target, server_id: id, since, missing: 0 }]);
    const { sandbox_id: sandbox = "", server_name, tags = [] } = servers[0] ?? {};
    const name = server_name ?? "";
    for (const query of [
      { server: id.slice(0, 8) },
      { sandbox: sandbox.slice(0, 8), server: id },
      { server_name: [name], status: "error" },
      { server: name, status: "error" },
      { tag: tags, status: "error", region: "us", key: "research" },
    ]) {
      expect((await api(listServers, query)).servers).toEqual(servers);
    }
    for (const query of [
      { server: "nothing" },
      { tag: "nothing" },
      { sandbox: "nothing" },
      { benchmark: "nothing" },
    ]) {
      expect((await api(listServers, query)).servers).toEqual([]);
    }
  });
});
