import { describe, expect, it } from "vitest";
import { acknowledgeIncident, listIncidents } from "../../src/api/operations/incidents.ts";
import { listServers } from "../../src/api/operations/servers.ts";
import { addSilence, expireSilence, listSilences } from "../../src/api/operations/silences.ts";
import { events, told } from "../support/heard.ts";
import { watchWorld } from "../support/watched-world.ts";
import type { WatchedWorld } from "../support/watched-world.ts";

const reason = "the region is being moved";

const erring = { name: "erring", on: "server", status: "error", remind_every: "1m" };

async function firingIncident(world: WatchedWorld): Promise<string> {
  const { incidents } = await world.daemon().api(listIncidents, { state: "firing" });
  return incidents[0]?.id ?? "";
}

function silenceUs(world: WatchedWorld, duration: string) {
  const request = { match: { region: "us" }, author: "ann", reason, duration };
  return world.daemon().api(addSilence, request);
}

describe("a silence", () => {
  it("keeps an incident that starts in it from being told until it ends", async () => {
    const world = await watchWorld();
    await world.poll();
    await silenceUs(world, "1m");
    world.show(0, "error");
    await world.poll(4);
    expect(told(world)).toEqual([]);

    await world.poll(10);
    expect(told(world)).toEqual(["server-error firing"]);
    expect(events(world)).toContain("incident.muted");
  });

  it("is kept over a restart", async () => {
    const world = await watchWorld();
    await world.poll();
    await silenceUs(world, "1m");
    world.show(0, "error");
    await world.restart();
    await world.poll(4);
    expect(told(world)).toEqual([]);
    await world.poll(10);
    expect(told(world)).toEqual(["server-error firing"]);
  });

  it("takes back what was told, and what goes on is told anew when it is expired", async () => {
    const world = await watchWorld();
    world.show(0, "error");
    await world.poll();
    const { id } = await silenceUs(world, "1d");
    await world.poll(2);
    expect(told(world)).toEqual(["server-error firing", "server-error resolved"]);
    expect(world.alerts[1]?.data.incidents[0]).toMatchObject({ resolved_reason: "silenced" });

    await world.daemon().api(expireSilence, { id });
    await world.poll(2);
    expect(told(world).slice(2)).toEqual(["server-error firing"]);
  });

  it("says nothing of what it is not about", async () => {
    const world = await watchWorld();
    const match = { server_id: world.serverIds[1] ?? "" };
    await world.daemon().api(addSilence, { match, author: "ann", reason, duration: "1d" });
    world.show(0, "error");
    world.show(1, "error");
    await world.poll();
    const servers = world.alerts.flatMap(({ data }) =>
      data.incidents.map((each) => each.server_id),
    );
    expect(servers).toEqual([world.serverIds[0]]);
  });

  const common = ["rule", "severity", "region", "key", "server_name"] as const;
  it.each([
    ...[...common, "sandbox_id", "server_id", "benchmark", "tag"].map((by) => ["server", by]),
    ...common.map((by) => ["pool", by]),
  ])("suppresses incidents of a %s by their %s, and no others", async (on, by) => {
    const rules = {
      server: { name: "erring", on, status: "error", severity: "critical" },
      pool: {
        name: "erring",
        on,
        by: ["region", "key", "server_name"],
        error_ratio: { above: 0 },
        severity: "critical",
      },
    };
    const rule = on === "pool" ? rules.pool : rules.server;
    const world = await watchWorld({ servers: 60, alerts: { rules: [rule] } });
    await world.poll();
    const { api } = world.daemon();
    const { servers } = await api(listServers, { limit: 60 });
    const server = servers.find(({ benchmark, tags }) => benchmark !== null && tags.length > 0);
    const values = { ...rule, rule: rule.name, ...server, tag: server?.tags[0] };
    const value = Object.entries(values).find(([name]) => name === by)?.[1];
    const silence = (match: object) =>
      api(addSilence, { match, author: "ann", reason, duration: "1d" });

    await silence({ [by]: "another" });
    world.show(world.serverIds.indexOf(server?.server_id ?? ""), "error");
    await world.poll();
    expect(told(world)).toEqual(["erring firing"]);
    await silence({ [by]: value });
    await world.poll();
    expect(told(world)).toEqual(["erring firing", "erring resolved"]);
    expect(world.alerts[1]?.data.incidents[0]).toMatchObject({ resolved_reason: "silenced" });
  });

  it("that names what only servers have does not suppress incidents of pools", async () => {
    const rule = { name: "erring", on: "pool", by: [], error_ratio: { above: 0 } };
    const world = await watchWorld({ alerts: { rules: [rule] } });
    for (const by of ["sandbox_id", "server_id", "benchmark", "tag", "server_name", "region"]) {
      const request = { match: { [by]: "*" }, author: "ann", reason, duration: "1d" };
      await world.daemon().api(addSilence, request);
    }
    world.show(0, "error");
    await world.poll();
    expect(told(world)).toEqual(["erring firing"]);
  });

  it("that is to come keeps quiet until then", async () => {
    const world = await watchWorld();
    const startMs = world.clock.now().utcMs + 60_000;
    await world.daemon().api(addSilence, {
      match: { rule: "server-*" },
      author: "ann",
      reason,
      starts_at: new Date(startMs).toISOString(),
      duration: "1h",
    });
    world.show(0, "error");
    await world.poll();
    expect(told(world)).toEqual(["server-error firing"]);
    world.clock.advance(60_000);
    world.show(1, "error");
    await world.poll();
    expect(told(world)).toEqual(["server-error firing", "server-error resolved"]);
  });
});

describe("a maintenance window", () => {
  it("is like a silence while it is open, in its time zone", async () => {
    // The clock of these tests starts at 09:30 UTC, which is 10:30 in Berlin.
    const window = {
      name: "deploys",
      start: "30 10 * * *",
      duration: "1m",
      time_zone: "Europe/Berlin",
      match: { key: "research" },
    };
    const world = await watchWorld({ alerts: { maintenance: [window] } });
    world.show(0, "error");
    await world.poll(4);
    expect(told(world)).toEqual([]);
    const { silences } = await world.daemon().api(listSilences, {});
    expect(silences).toMatchObject([
      {
        id: "maintenance:deploys",
        kind: "maintenance",
        state: "in_force",
        ends_at: "2026-11-20T09:31:00.000Z",
      },
    ]);
    await world.poll(10);
    expect(told(world)).toEqual(["server-error firing"]);
  });
});

describe("an acknowledged incident", () => {
  it("is not reminded of, also after a restart, and its end is told", async () => {
    const world = await watchWorld({ alerts: { rules: [erring] } });
    world.show(0, "error");
    await world.poll(14);
    expect(told(world)).toEqual(["erring firing", "erring reminder"]);

    await world
      .daemon()
      .api(acknowledgeIncident, { id: await firingIncident(world), author: "ann" });
    await world.poll(14);
    await world.restart();
    await world.poll(14);
    expect(told(world)).toHaveLength(2);

    world.show(0, "idle");
    await world.poll();
    expect(told(world).slice(2)).toEqual(["erring resolved"]);
    expect(world.alerts.at(-1)?.data.incidents[0]).toMatchObject({ acknowledged_by: "ann" });
  });

  it("is told, once, to receivers that want to hear of it", async () => {
    const world = await watchWorld({ receiver: { send_acknowledged: true } });
    world.show(0, "error");
    await world.poll();
    const { api } = world.daemon();
    const id = await firingIncident(world);
    const first = await api(acknowledgeIncident, {
      id: id.slice(0, 8),
      author: "ann",
      note: "rebooting it",
    });
    const second = await api(acknowledgeIncident, { id, author: "bob" });
    await world.poll();

    expect(told(world)).toEqual(["server-error firing", "server-error acknowledged"]);
    expect(world.alerts[1]?.data.summary).toContain("acknowledged by ann");
    expect(first).toMatchObject({ incident_id: id, author: "ann", already: false });
    expect(second).toMatchObject({ author: "ann", note: "rebooting it", already: true });
  });

  it("is delivered at once, without waiting for a poll", async () => {
    const world = await watchWorld({ receiver: { send_acknowledged: true } });
    world.show(0, "error");
    await world.daemon().start();
    await world.peer.received(1);
    await world
      .daemon()
      .api(acknowledgeIncident, { id: await firingIncident(world), author: "ann" });
    await world.peer.received(2);
    expect(told(world)).toEqual(["server-error firing", "server-error acknowledged"]);
  });

  it("must be firing: one that is over is refused", async () => {
    const world = await watchWorld();
    world.show(0, "error");
    await world.poll();
    const id = await firingIncident(world);
    world.show(0, "idle");
    await world.poll();
    await expect(world.daemon().api(acknowledgeIncident, { id, author: "ann" })).rejects.toThrow(
      `Incident ${id} is over already`,
    );
    expect(told(world)).toEqual(["server-error firing", "server-error resolved"]);
  });
});
