import { describe, expect, it } from "vitest";
import { explainServer } from "../../src/api/operations/explain.ts";
import { acknowledgeIncident, listIncidents } from "../../src/api/operations/incidents.ts";
import {
  discardNotifications,
  listNotifications,
  replayNotifications,
  showNotification,
} from "../../src/api/operations/notifications.ts";
import { addSilence } from "../../src/api/operations/silences.ts";
import { timeline } from "../../src/api/operations/explain.ts";
import { watchWorld } from "../support/watched-world.ts";
import type { WatchedWorld } from "../support/watched-world.ts";
import { erring, sound } from "./support/api-world.ts";

describe("incidents", () => {
  it("are listed by state and rule, a page at a time", async () => {
    const world = await erring(3);
    const { api } = world.daemon();
    world.show(0, "idle");
    await world.poll();
    const firing = await api(listIncidents, { state: "firing", rule: "server-error" });
    expect(firing.incidents).toHaveLength(2);
    const resolved = await api(listIncidents, { state: ["resolved"] });
    expect(resolved.incidents).toMatchObject([
      { state: "resolved", resolved_reason: "recovered", server_id: world.serverIds[0] },
    ]);
    expect((await api(listIncidents, { rule: "other" })).incidents).toEqual([]);

    const first = await api(listIncidents, { limit: 2 });
    const second = await api(listIncidents, { limit: 2, before: first.next ?? "" });
    const ids = [...first.incidents, ...second.incidents].map(({ id }) => id);
    expect([new Set(ids).size, second.next]).toEqual([3, null]);
  });

  it("that a silence mutes say so", async () => {
    const world = await watchWorld();
    await world.daemon().api(addSilence, sound);
    world.show(0, "error");
    await world.poll();
    const { incidents } = await world.daemon().api(listIncidents, {});
    expect(incidents).toMatchObject([{ state: "firing", muted: true, receivers: [] }]);
  });

  it("are acknowledged by the beginning of an id only if it is of one alone", async () => {
    const world = await erring(40);
    const { api } = world.daemon();
    const ids = (await api(listIncidents, {})).incidents.map(({ id }) => id);
    const shared = ids.map((id) => id[0] ?? "").find((first, at, all) => all.indexOf(first) !== at);
    await expect(
      api(acknowledgeIncident, { id: shared ?? "", author: "ann" }),
    ).rejects.toMatchObject({
      kind: "conflict",
      message: expect.stringContaining("is a prefix of several ids"),
    });
    await expect(api(acknowledgeIncident, { id: "", author: "ann" })).rejects.toMatchObject({
      kind: "invalid",
      message: "Give an id, or a prefix of one.",
    });
    await expect(api(acknowledgeIncident, { id: "nothing", author: "ann" })).rejects.toMatchObject({
      kind: "not_found",
    });
  });
});

describe("an explanation of a server", () => {
  it("lists what happened, who was notified and what was silenced, in order of time", async () => {
    const world = await erring();
    const { api } = world.daemon();
    const id = world.serverIds[0] ?? "";
    const { incidents } = await api(listIncidents, {});
    await api(acknowledgeIncident, {
      id: incidents[0]?.id ?? "",
      author: "ann",
      note: "rebooting",
    });
    world.clock.advance(1_000);
    await api(addSilence, { ...sound, match: { server_id: id } });
    await api(addSilence, { ...sound, match: { region: "eu" }, reason: "elsewhere" });
    await world.poll();
    world.show(0, "idle");
    await world.poll();

    const { events, listed, server_id } = await api(explainServer, { server: id });
    expect(server_id).toBe(id);
    expect(listed).toMatchObject([{ region: "us", key: "research", status: "idle" }]);
    const times = events.map(({ at }) => at);
    expect(times).toEqual(times.toSorted());
    const lines = events.map(({ event, text }) => `${event}: ${text}`);
    expect(lines).toEqual([
      expect.stringMatching(/^server.changed: absent -> idle in sandbox \S+ of us\/research$/),
      expect.stringMatching(/^server.changed: idle -> error in sandbox \S+ of us\/research$/),
      "incident.opened: server-error: opened",
      "incident.fired: server-error: firing (critical), notifies oncall",
      "incident.acknowledged: server-error: acknowledged by ann: rebooting",
      "notification.queued: oncall: firing",
      "delivery.taken: oncall accepted: firing",
      "silence.began: silence by ann: being moved - began",
      "incident.resolved: server-error: resolved (silenced)",
      "incident.muted: server-error: continues, silenced",
      "notification.queued: oncall: resolved",
      "delivery.taken: oncall accepted: resolved",
      expect.stringMatching(/^server.changed: error -> idle in sandbox \S+ of us\/research$/),
      "incident.resolved: server-error: resolved (recovered)",
    ]);
  });

  it("finds a server by the beginning of its id and by its name, if it is the only one", async () => {
    const world = await watchWorld({ servers: 1 });
    await world.poll();
    const { api } = world.daemon();
    const [id = ""] = world.serverIds;
    const byPrefix = await api(explainServer, { server: id.slice(0, 6) });
    const byName = await api(explainServer, { server: byPrefix.server_name ?? "" });
    expect([byPrefix.server_id, byName.server_id]).toEqual([id, id]);
  });

  it("finds one that is gone by what is kept of it", async () => {
    const world = await watchWorld();
    await world.poll();
    world.show(1, "absent");
    await world.poll(3);
    const { api } = world.daemon();
    const { listed, events } = await api(explainServer, { server: world.serverIds[1] ?? "" });
    expect(listed).toEqual([]);
    expect(events.map(({ text }) => text)).toContainEqual(
      expect.stringMatching(/^idle -> absent in sandbox \S+ of us\/research$/),
    );
  });

  it("says which servers a text means when it means several", async () => {
    const world = await watchWorld({ servers: 200 });
    await world.poll();
    const { api } = world.daemon();
    const [id = ""] = world.serverIds;
    await expect(api(explainServer, { server: id.slice(0, 1) })).rejects.toMatchObject({
      kind: "conflict",
      message: expect.stringMatching(/matches several servers: .*us\/research/),
    });
    await expect(api(explainServer, { server: "no-such-server" })).rejects.toMatchObject({
      kind: "not_found",
    });
  });
});

describe("notifications that were given up", () => {
  async function givenUp(): Promise<WatchedWorld> {
    const world = await watchWorld();
    world.peer.answer(400);
    for (const server of [0, 1]) {
      world.show(server, "error");
      await world.poll();
    }
    world.peer.answer(204);
    return world;
  }

  it("are listed latest first, by state and receiver, a page at a time", async () => {
    const { api } = (await givenUp()).daemon();
    const first = await api(listNotifications, { state: "dead", receiver: "oncall", limit: 1 });
    const second = await api(listNotifications, {
      state: ["dead"],
      limit: 1,
      before: first.next ?? "",
    });
    const dead = [...first.notifications, ...second.notifications];
    expect(dead).toMatchObject([
      { state: "dead", receiver: "oncall", type: "incident.firing", attempts: 1 },
      { state: "dead", caused_at: "2026-11-20T09:30:05.000Z" },
    ]);
    expect((await api(listNotifications, { receiver: "other" })).notifications).toEqual([]);
    expect((await api(listNotifications, { state: "delivered" })).notifications).toEqual([]);
  });

  it("are shown one by one with every attempt", async () => {
    const world = await givenUp();
    const { api } = world.daemon();
    const [last] = (await api(listNotifications, {})).notifications;
    const seq = String(last?.seq);
    await api(replayNotifications, { seqs: [Number(seq)] });
    await world.poll();
    expect(await api(showNotification, { id: seq })).toMatchObject({
      ...last,
      state: "delivered",
      attempts: 2,
      last_reason: null,
      settled_at: expect.any(String),
      attempt_list: [
        { at: "2026-11-20T09:30:10.000Z", reason: "rejected", detail: "HTTP 400" },
        { at: "2026-11-20T09:30:15.000Z", reason: null, detail: null },
      ],
    });
    await expect(api(showNotification, { id: "999" })).rejects.toMatchObject({ kind: "not_found" });
    await expect(api(showNotification, { id: "first" })).rejects.toMatchObject({ kind: "invalid" });
  });

  it("are explained with why they were not taken, and whether they are let be", async () => {
    const world = await givenUp();
    const { api } = world.daemon();
    const server = world.serverIds[0] ?? "";
    const deliveries = async () => {
      const { events } = await api(explainServer, { server });
      return events.flatMap(({ event, text }) =>
        /^delivery|dead$|discarded$/.test(event) ? [text] : [],
      );
    };
    const given = [
      "oncall did not accept: firing (rejected: HTTP 400)",
      "oncall: dead: firing (rejected)",
    ];
    expect(await deliveries()).toEqual(given);
    await api(discardNotifications, { receiver: "oncall" });
    expect(await deliveries()).toEqual([given[0], "oncall: discarded: firing"]);
  });

  it("are delivered after all when they are replayed", async () => {
    const world = await givenUp();
    const { api } = world.daemon();
    const { notifications } = await api(listNotifications, { state: "dead" });
    const seqs = notifications.map(({ seq }) => seq).slice(0, 1);
    expect(await api(replayNotifications, { seqs })).toEqual({ count: 1, notes: [] });
    await world.poll();
    expect(world.alerts).toHaveLength(1);
    expect(await api(replayNotifications, { seqs })).toEqual({
      count: 0,
      notes: ["numbers without a dead letter: 1"],
    });
  });

  it("are let be when they are discarded", async () => {
    const world = await givenUp();
    const { api } = world.daemon();
    expect(await api(discardNotifications, { receiver: "oncall" })).toMatchObject({ count: 2 });
    await world.poll();
    expect(world.alerts).toEqual([]);
    expect((await api(listNotifications, { state: "discarded" })).notifications).toHaveLength(2);
  });

  it("are not chosen by an empty list", async () => {
    const { api } = (await watchWorld()).daemon();
    await expect(api(replayNotifications, { seqs: [] })).rejects.toMatchObject({ kind: "invalid" });
  });
});

it("a server that moves between sandboxes is explained with the sandbox of each change", () => {
  const change = {
    target: { region: "us", key: "research" },
    serverId: "a",
    serverName: "github",
    dwellMs: null,
    observation: null,
    atMs: 1_000,
    cursor: "1_0",
  };
  const changes = [
    { ...change, sandboxId: "B", from: "absent" as const, to: "error" as const },
    { ...change, sandboxId: "A", from: "error" as const, to: "absent" as const, atMs: 2_000 },
  ];
  const server = { serverId: "a", serverName: "github", listed: [] };
  const nothing = { incidents: [], silences: [], windows: [], items: [], attempts: [] };
  const events = timeline({ server, changes, ...nothing }, [], 3_000);
  expect(events.map(({ text }) => text)).toEqual([
    "absent -> error in sandbox B of us/research",
    "error -> absent in sandbox A of us/research",
  ]);
});
