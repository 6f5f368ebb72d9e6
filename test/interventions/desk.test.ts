import { describe, expect, it } from "vitest";
import type { SilenceRequest } from "../../src/interventions/requests.ts";
import { watchWorld } from "../support/watched-world.ts";
import type { WatchedWorld } from "../support/watched-world.ts";

const dayMs = 86_400_000;

/** 09:30 UTC on the tests' day. */
const sound: SilenceRequest = {
  match: { region: "us" },
  author: "ann",
  reason: "being moved",
  duration: "2h",
};

async function erring(servers = 1): Promise<WatchedWorld> {
  const world = await watchWorld({ servers: Math.max(servers, 3) });
  await world.poll();
  for (let server = 0; server < servers; server += 1) world.show(server, "error");
  await world.poll();
  return world;
}

describe("a silence that is to be added", () => {
  it.each<[string, object, string]>([
    ["without a reason", { reason: undefined }, "reason: why it is to be silent"],
    ["with an empty reason", { reason: "  " }, "reason: why it is to be silent"],
    ["without an author", { author: undefined }, "author: who says so"],
    ["without an end", { duration: undefined }, "ends_at: when it ends"],
    ["with two ends", { ends_at: "2026-11-20T12:00:00Z" }, "one of the two"],
    ["that matches all", { match: {} }, "match: at least one field"],
    ["without a match", { match: undefined }, "match: "],
    ["with an unknown field to match", { match: { reigon: "us" } }, "match.reigon: nothing"],
    ["with an empty name to match", { match: { region: "" } }, "match.region: a name"],
    ["for no time", { duration: "0s" }, "ends_at: an end in the future"],
    ["for more than a year", { duration: "400d" }, "ends_at: an end within a year"],
    ["for what is no time", { duration: "long" }, "duration: a duration such as 30m"],
    ["that is over", { duration: undefined, ends_at: "2026-11-20T09:00:00Z" }, "in the future"],
    [
      "until a time of no zone",
      { duration: undefined, ends_at: "2026-11-20T12:00:00" },
      "ends_at: a time such as",
    ],
    [
      "that ends before it starts",
      { duration: undefined, starts_at: "2026-11-21T00:00Z", ends_at: "2026-11-20T23:00Z" },
      "ends_at: an end after the start",
    ],
    ["that starts in years", { starts_at: "2029-01-01T00:00:00Z" }, "starts_at: a start within"],
    ["with an unknown field", { comment: "x" }, "comment: nothing: there is no such field"],
  ])("is refused %s", async (_, changes, says) => {
    const { desk } = (await watchWorld()).daemon();
    const asked = desk.addSilence({ ...sound, ...changes });
    await expect(asked).rejects.toMatchObject({
      kind: "invalid",
      message: expect.stringContaining(says),
    });
    expect(await desk.silences({ ended: true })).toEqual({ silences: [], next: null });
  });

  it("is listed with all that was said, latest first", async () => {
    const { desk } = (await watchWorld()).daemon();
    await desk.addSilence(sound);
    await desk.addSilence({
      match: { server_name: ["git*", "jira"], tag: "prod" },
      author: "bob",
      reason: "an upgrade",
      starts_at: "2026-11-20T13:00:00+02:00",
      ends_at: "2026-11-20T12:00:00Z",
    });
    const { silences } = await desk.silences({});
    expect(new Set(silences.map(({ state, author }) => `${author} ${state}`))).toEqual(
      new Set(["bob to_come", "ann in_force"]),
    );
    expect(silences.find(({ author }) => author === "bob")).toMatchObject({
      kind: "silence",
      match: { server_name: ["git*", "jira"], tag: ["prod"] },
      starts_at: "2026-11-20T11:00:00.000Z",
      ends_at: "2026-11-20T12:00:00.000Z",
      created_at: "2026-11-20T09:30:00.000Z",
    });
  });

  it("is listed a page at a time", async () => {
    const world = await watchWorld();
    const { desk } = world.daemon();
    for (const author of ["a", "b", "c", "d", "e"]) {
      await desk.addSilence({ ...sound, author });
      world.clock.advance(1);
    }
    const first = await desk.silences({ limit: 2 });
    const second = await desk.silences({ limit: 2, before: first.next ?? "" });
    const third = await desk.silences({ limit: 2, before: second.next ?? "" });
    const pages = [first, second, third].map(({ silences }) => silences.map((each) => each.author));
    expect(pages).toEqual([["e", "d"], ["c", "b"], ["a"]]);
    expect(third.next).toBeNull();
  });
});

describe("a silence that is expired", () => {
  it("ends now, and is kept for thirty days after its end", async () => {
    const world = await watchWorld();
    const { desk } = world.daemon();
    const { id } = await desk.addSilence(sound);
    world.clock.advance(60_000);
    expect(await desk.expireSilence(id)).toMatchObject({
      state: "ended",
      ends_at: "2026-11-20T09:31:00.000Z",
    });
    expect((await desk.silences({})).silences).toEqual([]);
    expect((await desk.silences({ ended: true })).silences).toMatchObject([{ id }]);

    world.clock.advance(31 * dayMs);
    await desk.addSilence(sound);
    expect((await desk.silences({ ended: true })).silences).toHaveLength(1);
  });

  it("is not expired twice", async () => {
    const { desk } = (await watchWorld()).daemon();
    const { id } = await desk.addSilence(sound);
    await desk.expireSilence(id);
    await expect(desk.expireSilence(id)).rejects.toMatchObject({
      kind: "conflict",
      message: `Silence ${id} has ended already, at 2026-11-20T09:30:00.000Z.`,
    });
  });

  it("must be there, and be no maintenance window", async () => {
    const maintenance = [
      { name: "sundays", start: "0 2 * * SUN", duration: "2h", match: { region: "us" } },
    ];
    const { desk } = (await watchWorld({ alerts: { maintenance } })).daemon();
    await expect(desk.expireSilence("s1")).rejects.toMatchObject({ kind: "not_found" });
    await expect(desk.expireSilence("maintenance:sundays")).rejects.toMatchObject({
      kind: "conflict",
      message: expect.stringContaining("change alerts.maintenance"),
    });
    expect((await desk.silences({})).silences).toMatchObject([
      { kind: "maintenance", state: "to_come", starts_at: "2026-11-22T02:00:00.000Z" },
    ]);
  });
});

describe("incidents", () => {
  it("are listed by state and rule, a page at a time", async () => {
    const world = await erring(3);
    const { desk } = world.daemon();
    world.show(0, "idle");
    await world.poll();
    const firing = await desk.incidents({ state: "firing", rule: "server-error" });
    expect(firing.incidents).toHaveLength(2);
    const resolved = await desk.incidents({ state: ["resolved"] });
    expect(resolved.incidents).toMatchObject([
      { state: "resolved", resolved_reason: "recovered", server_id: world.serverIds[0] },
    ]);
    expect((await desk.incidents({ rule: "other" })).incidents).toEqual([]);

    const first = await desk.incidents({ limit: 2 });
    const second = await desk.incidents({ limit: 2, before: first.next ?? "" });
    const ids = [...first.incidents, ...second.incidents].map(({ id }) => id);
    expect([new Set(ids).size, second.next]).toEqual([3, null]);
  });

  it("that a silence mutes say so", async () => {
    const world = await watchWorld();
    await world.daemon().desk.addSilence(sound);
    world.show(0, "error");
    await world.poll();
    const { incidents } = await world.daemon().desk.incidents({});
    expect(incidents).toMatchObject([{ state: "firing", muted: true, receivers: [] }]);
  });

  it("are acknowledged by the beginning of an id only if it is of one alone", async () => {
    const world = await erring(40);
    const { desk } = world.daemon();
    const ids = (await desk.incidents({})).incidents.map(({ id }) => id);
    const shared = ids.map((id) => id[0] ?? "").find((first, at, all) => all.indexOf(first) !== at);
    await expect(desk.acknowledge(shared ?? "", { author: "ann" })).rejects.toMatchObject({
      kind: "conflict",
      message: expect.stringContaining("is the beginning of several ids"),
    });
    await expect(desk.acknowledge("nothing", { author: "ann" })).rejects.toMatchObject({
      kind: "not_found",
    });
  });
});

describe("an explanation of a server", () => {
  it("tells in one line of time what happened, who was told and what was silent", async () => {
    const world = await erring();
    const { desk } = world.daemon();
    const id = world.serverIds[0] ?? "";
    const { incidents } = await desk.incidents({});
    await desk.acknowledge(incidents[0]?.id ?? "", { author: "ann", note: "rebooting" });
    world.clock.advance(1_000);
    await desk.addSilence({ ...sound, match: { server_id: id } });
    await desk.addSilence({ ...sound, match: { region: "eu" }, reason: "elsewhere" });
    await world.poll();
    world.show(0, "idle");
    await world.poll();

    const { events, listed, server_id } = await desk.explain({ server: id });
    expect(server_id).toBe(id);
    expect(listed).toMatchObject([{ region: "us", key: "research", status: "idle" }]);
    const times = events.map(({ at }) => at);
    expect(times).toEqual(times.toSorted());
    const lines = events.map(({ event, text }) => `${event}: ${text}`);
    expect(lines).toEqual([
      "server.changed: absent -> idle in us/research",
      "server.changed: idle -> error in us/research",
      "incident.opened: server-error: opened",
      "incident.fired: server-error: fires (critical), told to oncall",
      "incident.acknowledged: server-error: acknowledged by ann: rebooting",
      "notification.queued: oncall is to be told that it fires",
      "delivery.taken: oncall took it",
      "silence.began: silence by ann: being moved - began",
      "incident.resolved: server-error: over (silenced)",
      "incident.muted: server-error: goes on, and a silence keeps it from being told",
      "notification.queued: oncall is to be told that it is over",
      "delivery.taken: oncall took it",
      "server.changed: error -> idle in us/research",
      "incident.resolved: server-error: over (recovered)",
    ]);
  });

  it("finds a server by the beginning of its id and by its name, if it is the only one", async () => {
    const world = await watchWorld({ servers: 1 });
    await world.poll();
    const { desk } = world.daemon();
    const [id = ""] = world.serverIds;
    const byPrefix = await desk.explain({ server: id.slice(0, 6) });
    const byName = await desk.explain({ server: byPrefix.server_name ?? "" });
    expect([byPrefix.server_id, byName.server_id]).toEqual([id, id]);
  });

  it("finds one that is gone by what is kept of it", async () => {
    const world = await watchWorld();
    await world.poll();
    world.show(1, "absent");
    await world.poll(3);
    const { desk } = world.daemon();
    const { listed, events } = await desk.explain({ server: world.serverIds[1] ?? "" });
    expect(listed).toEqual([]);
    expect(events.map(({ text }) => text)).toContain("idle -> absent in us/research");
  });

  it("says which servers a text means when it means several", async () => {
    const world = await watchWorld({ servers: 200 });
    await world.poll();
    const { desk } = world.daemon();
    const [id = ""] = world.serverIds;
    await expect(desk.explain({ server: id.slice(0, 1) })).rejects.toMatchObject({
      kind: "conflict",
      message: expect.stringMatching(/means several servers: .*us\/research/),
    });
    await expect(desk.explain({ server: "no-such-server" })).rejects.toMatchObject({
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
    const { desk } = (await givenUp()).daemon();
    const first = await desk.notifications({ state: "dead", receiver: "oncall", limit: 1 });
    const second = await desk.notifications({
      state: ["dead"],
      limit: 1,
      before: first.next ?? "",
    });
    const dead = [...first.notifications, ...second.notifications];
    expect(dead).toMatchObject([
      { state: "dead", receiver: "oncall", type: "incident.firing", attempts: 1 },
      { state: "dead", caused_at: "2026-11-20T09:30:05.000Z" },
    ]);
    expect((await desk.notifications({ receiver: "other" })).notifications).toEqual([]);
    expect((await desk.notifications({ state: "delivered" })).notifications).toEqual([]);
  });

  it("are delivered after all when they are replayed", async () => {
    const world = await givenUp();
    const { desk } = world.daemon();
    const { notifications } = await desk.notifications({ state: "dead" });
    const seqs = notifications.map(({ seq }) => seq).slice(0, 1);
    expect(await desk.replay({ seqs })).toEqual({ count: 1 });
    await world.poll();
    expect(world.alerts).toHaveLength(1);
    expect(await desk.replay({ seqs })).toEqual({ count: 0 });
  });

  it("are let be when they are discarded", async () => {
    const world = await givenUp();
    const { desk } = world.daemon();
    expect(await desk.discard({ receiver: "oncall" })).toEqual({ count: 2 });
    await world.poll();
    expect(world.alerts).toEqual([]);
    expect((await desk.notifications({ state: "discarded" })).notifications).toHaveLength(2);
  });

  it("are not chosen by an empty list", async () => {
    const { desk } = (await watchWorld()).daemon();
    await expect(desk.replay({ seqs: [] })).rejects.toMatchObject({ kind: "invalid" });
  });
});

describe("changes", () => {
  it("are listed latest first, of one server if so wished", async () => {
    const world = await erring();
    const { desk } = world.daemon();
    const { changes } = await desk.changes({ limit: 2 });
    expect(changes).toMatchObject([{ from: "idle", to: "error" }, { from: "absent" }]);
    const ofOne = await desk.changes({ server: world.serverIds[2] ?? "" });
    expect(ofOne.changes).toMatchObject([{ server_id: world.serverIds[2], to: "idle" }]);
  });
});
