import { listIncidents } from "../../src/api/operations/incidents.ts";
import { addSilence } from "../../src/api/operations/silences.ts";
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
    const server = `puppeteer (${world.serverIds[0]?.slice(0, 8)}): `;
    const lines = view.events
      .filter(({ event }) => event.endsWith(".changed"))
      .map(({ event, text }) => `${event} ${text}`);
    expect(lines.filter((line) => !/filesystem|terminal/.test(line))).toEqual([
      "sandbox.changed absent -> idle in us/research",
      `server.changed ${server}absent -> idle in us/research`,
      "sandbox.changed idle -> error in us/research",
      `server.changed ${server}idle -> error in us/research`,
    ]);
  });

  it("has its incidents and those of its servers, what inhibited them, silences and deliveries", async () => {
    let listed = { status: "error", server: "error" };
    const { baseUrl } = await startPeer((_request, response) => {
      const sandbox = {
        local_sandbox_id: "box-1",
        status: listed.status,
        servers: [{ id: "s-1", server_name: "github", status: listed.server }],
      };
      const body = { local_sandboxes: [sandbox], total_count: 1 };
      response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(body));
    });
    const world = await watchWorld({ baseUrl });
    const { api } = world.daemon();
    const explain = async () => {
      const { events } = await api(explainSandbox, { sandbox: "box-1" });
      return events.map(({ event, text }) => `${event} ${text}`);
    };
    await world.poll();
    const { incidents } = await api(listIncidents, {});
    const ofServer = incidents.find(({ subject }) => subject === "server")?.id;
    expect(await explain()).toContain(
      `incident.inhibited sandbox-error: not notified because of incident ${ofServer}`,
    );
    listed = { status: "error", server: "idle" };
    await world.poll();
    world.clock.advance(1_000);
    const by = { author: "ann", reason: "being moved", duration: "1h" };
    await api(addSilence, { ...by, match: { sandbox_id: "box-1" } });
    await api(addSilence, { ...by, match: { sandbox_id: "box-2" }, force: true });
    expect(await explain()).toEqual([
      "sandbox.changed absent -> error in us/research",
      "server.changed github (s-1): absent -> error in us/research",
      "incident.opened github (s-1): server-error: opened",
      "incident.fired github (s-1): server-error: firing (critical), notifies oncall",
      "incident.opened sandbox-error: opened",
      "notification.queued oncall: firing",
      "delivery.taken oncall accepted: firing",
      "server.changed github (s-1): error -> idle in us/research",
      "incident.resolved github (s-1): server-error: resolved (recovered)",
      "incident.fired sandbox-error: firing (critical), notifies oncall",
      "notification.queued oncall: resolved",
      "notification.queued oncall: firing",
      "delivery.taken oncall accepted: resolved",
      "delivery.taken oncall accepted: firing",
      "silence.began silence by ann: being moved - began",
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
    expect(whole.events).toHaveLength(15);
    for (const limit of [1, 3, 7]) {
      let page = await api(explainSandbox, { sandbox, limit });
      expect(page.listed[0]?.servers).toHaveLength(Math.min(limit, 3));
      let events = page.events;
      while (page.next !== null) {
        expect([page.truncated, page.events.length]).toEqual([true, limit]);
        await world.poll();
        page = await api(explainSandbox, { sandbox, limit, before: page.next });
        events = [...page.events, ...events];
      }
      expect(events).toEqual(whole.events);
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
    expect(gone.listed).toEqual([]);
    expect(gone.events.map(({ event, text }) => `${event} ${text}`)).toContain(
      "sandbox.changed error -> absent in us/research",
    );
    expect((await explain("box")).sandbox_id).toBe("box-2");
    await expect(explain("nothing")).rejects.toMatchObject(
      refusal("not_found", "No known sandbox matches"),
    );
  });
});
