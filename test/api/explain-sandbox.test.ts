import { describe, expect, it } from "vitest";
import { explainSandbox } from "../../src/api/operations/explain-sandbox.ts";
import { listServers } from "../../src/api/operations/targets.ts";
import { watchWorld, type WatchedWorld } from "../support/watched-world.ts";
import { startPeer } from "../service/peer.ts";
import { refusal } from "./support/api-world.ts";

async function sandboxOf(world: WatchedWorld, server = 0): Promise<string> {
  const { servers } = await world.daemon().api(listServers, { server: world.serverIds[server] });
  return servers[0]?.sandbox_id ?? "";
}

describe("an explanation of a sandbox", () => {
  it("says what it is, who states its status, and what happened to it and its servers", async () => {
    const world = await watchWorld();
    await world.poll();
    world.show(0, "error");
    await world.poll();
    const { api } = world.daemon();
    const id = await sandboxOf(world);
    const view = await api(explainSandbox, { sandbox: id.slice(0, 8) });
    expect(view).toMatchObject({ sandbox_id: id, truncated: false, next: null });
    expect(view.listed).toMatchObject([
      { region: "us", key: "research", status: "error", stated_status: null, server_count: 3 },
    ]);
    const [listed] = view.listed;
    expect(Date.parse(listed?.created_at ?? "")).toBeLessThan(world.clock.now().utcMs);
    expect(listed?.servers).toMatchObject([
      { server_id: world.serverIds[0], status: "error", states_status: true },
      { status: "idle" },
      { status: "idle" },
    ]);
    const lines = view.changes.map(({ subject, from, to }) => `${subject}: ${from} -> ${to}`);
    expect(lines).toEqual([
      "sandbox: absent -> idle",
      "server: absent -> idle",
      "server: absent -> idle",
      "server: absent -> idle",
      "sandbox: idle -> error",
      "server: idle -> error",
    ]);
  });

  it("comes a page after the other, latest first, also through a moment of many changes", async () => {
    const world = await watchWorld();
    for (const status of ["idle", "error", "occupied"]) {
      world.show(0, status);
      await world.poll();
    }
    const { api } = world.daemon();
    const sandbox = await sandboxOf(world);
    const whole = await api(explainSandbox, { sandbox });
    expect(whole.changes).toHaveLength(8);
    for (const limit of [1, 3, 7]) {
      let page = await api(explainSandbox, { sandbox, limit });
      expect(page.listed[0]?.servers).toHaveLength(Math.min(limit, 3));
      let changes = page.changes;
      while (page.next !== null) {
        expect([page.truncated, page.changes.length]).toEqual([true, limit]);
        await world.poll();
        page = await api(explainSandbox, { sandbox, limit, before: page.next });
        changes = [...page.changes, ...changes];
      }
      expect(changes).toEqual(whole.changes);
    }
  });

  it("is of one that is gone as long as changes of it are kept, and of none that was never known", async () => {
    const box = (id: string, status: string | null, ...servers: readonly (string | null)[]) => ({
      local_sandbox_id: id,
      created_at: "2026-02-16T12:45:25Z",
      status,
      servers: servers.map((each, at) => ({ id: `${id}-${at}`, status: each })),
    });
    const [spoken, other] = [box("box-1", null, "idle", "error"), box("box-2", "idle", null)];
    let listed = [spoken, other];
    const { baseUrl } = await startPeer((_request, response) => {
      const body = { local_sandboxes: listed, total_count: listed.length };
      response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(body));
    });
    const world = await watchWorld({ baseUrl });
    await world.poll();
    const explain = (sandbox: string) => world.daemon().api(explainSandbox, { sandbox });
    expect((await explain("box-1")).listed).toMatchObject([
      { status: "error", stated_status: null, created_at: "2026-02-16T12:45:25.000Z" },
    ]);
    expect((await explain("box-2")).listed).toMatchObject([
      { stated_status: "idle", servers: [{ status: "idle", states_status: false }] },
    ]);
    await expect(explain("box")).rejects.toMatchObject(refusal("conflict", "box-1, box-2"));
    listed = [other];
    await world.poll(3);
    await world.restart();
    const gone = await explain("box-1");
    expect([gone.listed, gone.changes.at(-1)]).toMatchObject([[], { to: "absent" }]);
    expect((await explain("box")).sandbox_id).toBe("box-2");
    await expect(explain("nothing")).rejects.toMatchObject(
      refusal("not_found", "No known sandbox matches"),
    );
  });
});
