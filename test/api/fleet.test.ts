import { describe, expect, it } from "vitest";
import type { z } from "zod";
import { listServers } from "../../src/api/operations/servers.ts";
import { listTargets } from "../../src/api/operations/targets.ts";
import { watchWorld } from "../support/watched-world.ts";
import { erring } from "./support/api-world.ts";

describe("targets", () => {
  it("tell how many servers they have in each status, and what is open", async () => {
    const world = await erring(2);
    const { targets } = await world.daemon().api(listTargets, {});
    expect(targets).toMatchObject([
      {
        ...world.target,
        up: true,
        stale: false,
        last_success_at: "2026-11-20T09:30:10.000Z",
        last_failure_at: null,
        blind_since: null,
        servers: { idle: 1, occupied: 0, error: 2, unknown: 0 },
        incidents: { pending: 0, firing: 2 },
      },
    ]);
  });

  it("tell since when they are blind, and why", async () => {
    const world = await watchWorld();
    const { api } = world.daemon();
    expect((await api(listTargets, {})).targets).toMatchObject([{ up: null, blind_since: null }]);
    await world.poll();
    world.fail({ kind: "status", status: 503 });
    await world.poll(3);
    expect((await api(listTargets, {})).targets).toMatchObject([
      {
        up: false,
        stale: true,
        last_failure_reason: "server_error",
        failures_in_a_row: 3,
        blind_since: "2026-11-20T09:30:05.000Z",
        servers: { idle: 3 },
      },
    ]);
    expect((await api(listServers, {})).servers).toMatchObject([
      { stale: true },
      { stale: true },
      { stale: true },
    ]);
  });

  it("of names that there are not are none, with a note", async () => {
    const world = await watchWorld();
    const answer = await world.daemon().api(listTargets, { region: "su", key: "research" });
    expect(answer.targets).toEqual([]);
    expect(answer.notes).toEqual([expect.stringContaining('no region is called "su"')]);
  });
});

describe("servers", () => {
  it("are listed a page at a time, each once", async () => {
    const world = await watchWorld({ servers: 25 });
    await world.poll();
    const { api } = world.daemon();
    const ids: string[] = [];
    for (let after: string | null = ""; after !== null;) {
      const page: z.output<typeof listServers.response> = await api(listServers, {
        limit: 10,
        ...(after && { cursor: after }),
      });
      ids.push(...page.servers.map(({ server_id: id }) => id));
      after = page.next;
    }
    expect(ids.toSorted()).toEqual(world.serverIds.toSorted());
  });

  it("are found by what they are and where they are", async () => {
    const world = await erring(1);
    const { api } = world.daemon();
    const [id = ""] = world.serverIds;
    const { servers } = await api(listServers, { status: "error,unknown" });
    const [server] = servers;
    expect(servers).toMatchObject([
      { ...world.target, server_id: id, since: "2026-11-20T09:30:10.000Z", missing: 0 },
    ]);
    const { sandbox_id: sandbox = "", server_name: name, tags = [] } = server ?? {};
    for (const query of [
      { server: id.slice(0, 8) },
      { sandbox: sandbox.slice(0, 8), server: id },
      { server_name: [name ?? ""], status: "error" },
      { server: name ?? "", status: "error" },
      { tag: tags, status: "error", region: "us", key: "research" },
    ]) {
      expect((await api(listServers, query)).servers).toEqual(servers);
    }
    for (const query of [{ server: "nothing" }, { tag: "nothing" }, { sandbox: "nothing" }]) {
      expect((await api(listServers, query)).servers).toEqual([]);
    }
  });

  it.each([
    [{ stauts: "idle" }, "stauts: nothing: there is no such field, perhaps status"],
    [{ status: "busy" }, "status: idle, occupied, error, unknown"],
    [{ cursor: "W10" }, "cursor: next of the previous page"],
    [{ cursor: "%%%" }, "cursor: next of the previous page"],
    [{ limit: "0" }, "limit: a whole number from 1 to 1000"],
    [{ sandbox: ["a", "b"] }, "sandbox: a sandbox's id, or a prefix of one"],
    [{ region: "us,," }, "Allowed: region: a text that is not empty"],
    [{ tag: "a,".repeat(100) + "a" }, "tag: at most 100 of them"],
  ])("are not listed for %j", async (query, allowed) => {
    const world = await watchWorld();
    await expect(world.daemon().api(listServers, { ...query } as object)).rejects.toMatchObject({
      kind: "invalid",
      message: expect.stringContaining(allowed),
    });
  });
});
