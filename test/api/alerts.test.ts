import { describe, expect, it } from "vitest";
import { changeText, explainServer } from "../../src/api/operations/explain.ts";
import {
  acknowledgeIncident,
  acknowledgeIncidents,
} from "../../src/api/operations/acknowledgements.ts";
import { listIncidents } from "../../src/api/operations/incidents.ts";
import {
  discardNotifications,
  listNotifications,
  replayNotifications,
  showNotification,
} from "../../src/api/operations/notifications.ts";
import { addSilence } from "../../src/api/operations/silences.ts";
import { notifications } from "../support/heard.ts";
import { watchWorld, type WatchedWorld } from "../support/watched-world.ts";
import { erring, refusal, sharedBeginning, sound } from "./support/api-world.ts";

it("an incident is acknowledged by the beginning of its id only if that is unique", async () => {
  const { api } = (await erring(40)).daemon();
  const ids = (await api(listIncidents, {})).incidents.map(({ id }) => id);
  const acknowledge = (id: string) => api(acknowledgeIncident, { id, author: "ann" });
  const several = "is a prefix of several ids";
  await expect(acknowledge(sharedBeginning(ids))).rejects.toMatchObject(
    refusal("conflict", several),
  );
  await expect(acknowledge("")).rejects.toMatchObject(
    refusal("invalid", "Give an id, or a prefix of one."),
  );
  await expect(acknowledge("nothing")).rejects.toMatchObject(refusal("not_found"));
});

it("an incident is acknowledged by its id in capitals, as somebody may type it", async () => {
  const { api } = (await erring(1)).daemon();
  const [incident] = (await api(listIncidents, {})).incidents;
  const id = ` ${incident?.id.toUpperCase() ?? ""} `;
  expect(await api(acknowledgeIncident, { id, author: "ann" })).toMatchObject({
    incident_id: incident?.id,
  });
});

it("receivers that want to know are notified of an acknowledgement at once", async () => {
  const world = await watchWorld({ receiver: { send_acknowledged: true } });
  world.daemon().watch();
  await world.poll();
  world.show(0, "error");
  await world.poll();
  expect(notifications(world)).toEqual(["server-error firing"]);
  await world.daemon().api(acknowledgeIncidents, { all: true, author: "ann" });
  // No time passes.
  await world.peer.received(2);
  expect(notifications(world)[1]).toBe("server-error acknowledged");
});

it("an incident whose id was taken gets another one in the same poll", async () => {
  const ids = ["first", "first", "second"];
  const world = await watchWorld({ overrides: { newIncidentId: () => ids.shift() ?? "" } });
  for (const status of ["error", "idle", "error"] as const) {
    world.show(0, status);
    await world.poll();
  }
  const { incidents } = await world.daemon().api(listIncidents, {});
  expect(incidents).toMatchObject([
    { id: "second", state: "firing" },
    { id: "first", state: "resolved" },
  ]);
  expect(world.log.filter(({ event }) => event === "poll.failed")).toEqual([]);
});

describe("incidents that are acknowledged together", () => {
  it.each<[object, number]>([
    [{ all: true }, 3],
    [{ rule: "server-error,other", region: "us" }, 3],
    [{ rule: "other" }, 0],
    [{ key: "other" }, 0],
  ])("are those that match %j", async (selection, matched) => {
    const { api } = (await erring(3)).daemon();
    const outcome = await api(acknowledgeIncidents, { ...selection, author: "ann" });
    expect(outcome).toMatchObject({ matched, already: [] });
    expect(outcome.acknowledged).toHaveLength(matched);
    expect(outcome.notes).toHaveLength(matched === 0 ? 1 : 0);
  });

  it("are counted with those that were acknowledged before", async () => {
    const world = await erring(2);
    const { api } = world.daemon();
    const server = world.serverIds[0] ?? "";
    const first = await api(acknowledgeIncidents, { server, author: "ann", note: "mine" });
    expect(first).toMatchObject({ matched: 1, acknowledged: [{ author: "ann", note: "mine" }] });
    const both = await api(acknowledgeIncidents, { all: true, author: "bob" });
    const [ofAnn, ofBob] = [[{ author: "ann" }], [{ author: "bob" }]];
    expect(both).toMatchObject({ matched: 2, acknowledged: ofBob, already: ofAnn });
  });

  it.each([{}, { all: true, region: "us" }])("need a selection: not %j", async (selection) => {
    const { api } = (await erring()).daemon();
    const acknowledging = api(acknowledgeIncidents, { ...selection, author: "ann" });
    await expect(acknowledging).rejects.toMatchObject(refusal("invalid", "or all: true"));
  });
});

describe("an explanation of a server", () => {
  it("lists what happened, what was notified and what was silenced, in order of time", async () => {
    const world = await erring();
    const { api } = world.daemon();
    const id = world.serverIds[0] ?? "";
    const { incidents } = await api(listIncidents, {});
    const incidentId = incidents[0]?.id ?? "";
    await api(acknowledgeIncident, { id: incidentId, author: "ann", note: "rebooting" });
    world.clock.advance(1_000);
    await api(addSilence, { ...sound, match: { server_id: id } });
    await api(addSilence, { ...sound, match: { region: "eu" }, reason: "elsewhere", force: true });
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

  it("comes a page after the other, latest first, though much happened at one moment", async () => {
    const maintenance = [
      {
        name: "nightly",
        match: { region: "us" },
        start: "31 9 * * *",
        duration: "5m",
        reason: "moved",
      },
    ];
    const world = await watchWorld({ alerts: { maintenance } });
    const { api } = world.daemon();
    const id = world.serverIds[0] ?? "";
    for (let turn = 0; turn < 8; turn += 1) {
      if (turn === 5) await api(addSilence, { ...sound, match: { server_id: id } });
      world.show(0, turn % 2 === 0 ? "idle" : "error");
      await world.poll(2);
      world.clock.advance(30_000);
    }
    world.clock.advance(600_000);
    await world.poll();
    const whole = await api(explainServer, { server: id });
    expect([whole.truncated, whole.next]).toEqual([false, null]);
    const kinds = new Set(whole.events.map(({ event }) => event));
    for (const kind of ["silence.began", "maintenance.began", "maintenance.ended"]) {
      expect(kinds).toContain(kind);
    }
    for (const limit of [1, 3, whole.events.length - 1]) {
      let page = await api(explainServer, { server: id, limit });
      let events = page.events;
      while (page.next !== null) {
        expect([page.truncated, page.events.length]).toEqual([true, limit]);
        await world.poll();
        page = await api(explainServer, { server: id, limit, before: page.next });
        events = [...page.events, ...events];
      }
      expect(events).toEqual(whole.events);
    }
  });

  it("finds a server by the beginning of its id, by its name, and after it is gone", async () => {
    const world = await watchWorld({ servers: 1 });
    await world.poll();
    const { api } = world.daemon();
    const [id = ""] = world.serverIds;
    const byPrefix = await api(explainServer, { server: id.slice(0, 6) });
    const byName = await api(explainServer, { server: byPrefix.server_name ?? "" });
    expect([byPrefix.server_id, byName.server_id]).toEqual([id, id]);
    world.show(0, "absent");
    await world.poll(3);
    const { listed, events } = await api(explainServer, { server: id });
    expect(listed).toEqual([]);
    expect(events.at(-1)?.text).toMatch(/^idle -> absent in sandbox \S+ of us\/research$/);
  });

  it("names the servers that a text can mean", async () => {
    const world = await watchWorld({ servers: 200 });
    await world.poll();
    const { api } = world.daemon();
    const shared = sharedBeginning(world.serverIds);
    await expect(api(explainServer, { server: shared })).rejects.toMatchObject(
      refusal("conflict", "in us/research"),
    );
    await expect(api(explainServer, { server: "no-such-server" })).rejects.toMatchObject(
      refusal("not_found"),
    );
  });

  it("has the sandbox of each change of a server that moves between sandboxes", () => {
    const target = { region: "us", key: "research" };
    const changes = [
      { target, sandboxId: "B", from: "absent", to: "error" },
      { target, sandboxId: "A", from: "error", to: "absent" },
    ] as const;
    expect(changes.map(changeText)).toEqual([
      "absent -> error in sandbox B of us/research",
      "error -> absent in sandbox A of us/research",
    ]);
  });
});

describe("dead letters", () => {
  async function deadLetters(): Promise<WatchedWorld> {
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
    const { api } = (await deadLetters()).daemon();
    const first = await api(listNotifications, { state: "dead", receiver: "oncall", limit: 1 });
    const rest = await api(listNotifications, { state: ["dead"], before: first.next ?? "" });
    expect([...first.notifications, ...rest.notifications]).toMatchObject([
      { state: "dead", receiver: "oncall", type: "incident.firing", attempts: 1 },
      { state: "dead", caused_at: "2026-11-20T09:30:05.000Z" },
    ]);
    expect((await api(listNotifications, { state: "delivered" })).notifications).toEqual([]);
  });

  it("are delivered after a replay, and shown with every attempt", async () => {
    const world = await deadLetters();
    const { api } = world.daemon();
    const [last] = (await api(listNotifications, {})).notifications;
    const seqs = [last?.seq ?? 0];
    expect(await api(replayNotifications, { seqs })).toEqual({ count: 1, notes: [] });
    await world.poll();
    expect(world.alerts).toHaveLength(1);
    expect(await api(showNotification, { id: String(last?.seq) })).toMatchObject({
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
    const notes = ["numbers without a dead letter: 1"];
    expect(await api(replayNotifications, { seqs })).toEqual({ count: 0, notes });
    await expect(api(replayNotifications, { seqs: [] })).rejects.toMatchObject(
      refusal("invalid", "at least 1 of them"),
    );
    await expect(api(showNotification, { id: "999" })).rejects.toMatchObject(refusal("not_found"));
    await expect(api(showNotification, { id: "first" })).rejects.toMatchObject(refusal("invalid"));
  });

  it("are not delivered after they are discarded, and explained", async () => {
    const world = await deadLetters();
    const { api } = world.daemon();
    const server = world.serverIds[0] ?? "";
    const deliveries = async () => {
      const { events } = await api(explainServer, { server });
      return events.flatMap(({ event, text }) =>
        /^delivery|dead$|discarded$/.test(event) ? [text] : [],
      );
    };
    const failed = "oncall did not accept: firing (rejected: HTTP 400)";
    expect(await deliveries()).toEqual([failed, "oncall: dead: firing (rejected)"]);
    expect(await api(discardNotifications, { receiver: "oncall" })).toMatchObject({ count: 2 });
    await world.poll();
    expect(world.alerts).toEqual([]);
    expect((await api(listNotifications, { state: "discarded" })).notifications).toHaveLength(2);
    expect(await deliveries()).toEqual([failed, "oncall: discarded: firing"]);
  });
});
