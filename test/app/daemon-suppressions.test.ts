import { describe, expect, it } from "vitest";
import { acknowledgeIncident, listIncidents } from "../../src/api/operations/incidents.ts";
import { addSilence, expireSilence, listSilences } from "../../src/api/operations/silences.ts";
import { events, notifications } from "../support/heard.ts";
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
  it("suppresses notifications until it ends, also over a restart", async () => {
    const world = await watchWorld();
    await world.poll();
    await silenceUs(world, "1m");
    world.show(0, "error");
    await world.poll();
    await world.restart();
    await world.poll(3);
    expect(notifications(world)).toEqual([]);

    await world.poll(10);
    expect(notifications(world)).toEqual(["server-error firing"]);
    expect(events(world)).toContain("incident.muted");
  });

  it("resolves what was notified, and what is still firing is notified when it is expired", async () => {
    const world = await watchWorld();
    world.show(0, "error");
    await world.poll();
    const { id } = await silenceUs(world, "1d");
    await world.poll(2);
    expect(notifications(world)).toEqual(["server-error firing", "server-error resolved"]);
    expect(world.alerts[1]?.data.incidents[0]).toMatchObject({ resolved_reason: "silenced" });

    await world.daemon().api(expireSilence, { id });
    await world.poll(2);
    expect(notifications(world).slice(2)).toEqual(["server-error firing"]);
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
    expect(notifications(world)).toEqual([]);
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
    expect(notifications(world)).toEqual(["server-error firing"]);
  });
});

describe("an acknowledged incident", () => {
  it("has no reminders, also after a restart, and its end is notified", async () => {
    const world = await watchWorld({ alerts: { rules: [erring] } });
    world.show(0, "error");
    await world.poll(14);
    expect(notifications(world)).toEqual(["erring firing", "erring reminder"]);

    await world
      .daemon()
      .api(acknowledgeIncident, { id: await firingIncident(world), author: "ann" });
    await world.poll(14);
    await world.restart();
    await world.poll(14);
    expect(notifications(world)).toHaveLength(2);

    world.show(0, "idle");
    await world.poll();
    expect(notifications(world).slice(2)).toEqual(["erring resolved"]);
    expect(world.alerts.at(-1)?.data.incidents[0]).toMatchObject({ acknowledged_by: "ann" });
  });

  it("is notified, once, to receivers that ask for it", async () => {
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

    expect(notifications(world)).toEqual(["server-error firing", "server-error acknowledged"]);
    expect(world.alerts[1]?.data.summary).toContain("acknowledged by ann");
    expect(first).toMatchObject({ incident_id: id, author: "ann", already: false });
    expect(second).toMatchObject({ author: "ann", note: "rebooting it", already: true });
  });
});
