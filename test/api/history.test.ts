import { describe, expect, it } from "vitest";
import type { z } from "zod";
import { listChanges } from "../../src/api/operations/changes.ts";
import { readEvents } from "../../src/api/operations/events.ts";
import { acknowledgeIncident } from "../../src/api/operations/acknowledgements.ts";
import { listIncidents } from "../../src/api/operations/incidents.ts";
import { watchWorld } from "../support/watched-world.ts";
import { erring } from "./support/api-world.ts";

describe("changes", () => {
  it("are listed latest first, selected by every field, a page at a time", async () => {
    const world = await erring();
    const { api } = world.daemon();
    const [first = "", , third = ""] = world.serverIds;
    const whole = await api(listChanges, {});
    expect(whole).toMatchObject({ next: null, notes: [] });
    expect(whole.changes).toMatchObject([
      { server_id: first, from: "idle", to: "error", stay_seconds: null, lapse: null },
      { subject: "sandbox", server_id: null, server_name: null, from: "idle", to: "error" },
      { subject: "server", from: "absent", to: "idle", stay_seconds: null },
      { from: "absent" },
      { from: "absent" },
      { subject: "sandbox", from: "absent", to: "idle" },
    ]);
    const page = await api(listChanges, { limit: 4 });
    const rest = await api(listChanges, { limit: 4, before: page.next ?? "" });
    expect([...page.changes, ...rest.changes]).toEqual(whole.changes);
    expect(rest.next).toBeNull();

    const idsOf = async (query: z.input<typeof listChanges.request>) =>
      (await api(listChanges, query)).changes.map(({ server_id }) => server_id);
    const before = new Date(world.clock.now().utcMs - 2_000).toISOString();
    expect(await idsOf({ server: third })).toEqual([third]);
    expect(await idsOf({ status: "error" })).toEqual([first, null]);
    expect(await idsOf({ subject: "server", status: "error" })).toEqual([first]);
    expect(await idsOf({ subject: "sandbox" })).toEqual([null, null]);
    expect(await idsOf({ subject: "sandbox,server" })).toHaveLength(6);
    expect(await idsOf({ sandbox: whole.changes[0]?.sandbox_id.slice(0, 8) })).toHaveLength(6);
    expect(await idsOf({ from_status: "absent,error", key: "research" })).toHaveLength(4);
    expect(await idsOf({ to_status: ["error", "absent"] })).toEqual([first, null]);
    expect(await idsOf({ from: "2s" })).toEqual([first, null]);
    expect(await idsOf({ to: before })).toHaveLength(4);
    expect(await idsOf({ sandbox: "no such box" })).toEqual([]);
    expect(await idsOf({ name: ["no, such", "name"] })).toEqual([]);
  });

  it("are of a range that is written in a zone", async () => {
    const { api } = (await erring()).daemon();
    const { changes: all } = await api(listChanges, {});
    const tz = "+05:30";
    const atMs = Date.parse(all[0]?.at ?? "");
    const shown = new Date(atMs + 330 * 60_000 - 1).toISOString().replace("Z", "");
    expect((await api(listChanges, { from: shown, tz })).changes).toEqual(all.slice(0, 2));
    expect((await api(listChanges, { to: shown, tz })).changes).toEqual(all.slice(2));
    expect((await api(listIncidents, { from: shown, tz })).incidents).toHaveLength(1);
    expect((await api(listIncidents, { to: shown, tz })).incidents).toHaveLength(0);
  });

  it("that are stored later are listed in that order, each once", async () => {
    const world = await erring();
    const { api } = world.daemon();
    const { after } = await api(listChanges, { limit: 1 });
    const none = { changes: [], next: null, after, notes: [] };
    expect(await api(listChanges, { after })).toEqual(none);
    for (const status of ["idle", "occupied", "idle"]) {
      world.show(0, status);
      world.show(1, status);
      await world.poll();
    }
    const lines: string[] = [];
    for (let cursor = after; ;) {
      const later = await api(listChanges, { after: cursor, limit: 2, subject: "server" });
      lines.push(...later.changes.map((each) => `${each.from} ${each.to} ${each.stay_seconds}`));
      if (later.after === cursor) break;
      cursor = later.after;
    }
    const moves = ["idle occupied 5", "idle occupied null", "occupied idle 5", "occupied idle 5"];
    expect(lines.toSorted()).toEqual(["error idle 5", ...moves]);
    expect(lines[0]).toBe("error idle 5");
  });
});

describe("incidents", () => {
  it("are selected by every field, a page at a time", async () => {
    const world = await erring(2);
    const { api } = world.daemon();
    const [first = "", second = ""] = world.serverIds;
    const idsOf = async (query: z.input<typeof listIncidents.request>) =>
      (await api(listIncidents, query)).incidents.map(({ server_id }) => server_id);
    expect(new Set(await idsOf({}))).toEqual(new Set([first, second]));
    const [found] = (await api(listIncidents, { server: first })).incidents;
    const box = found?.sandbox_id ?? "";
    const name = found?.server_name ?? "";
    expect(await idsOf({ server: first.slice(0, 20) })).toEqual([first]);
    expect(await idsOf({ sandbox: box, server: first })).toEqual([first]);
    expect(await idsOf({ server: name })).toContain(first);
    expect(await idsOf({ name: [name] })).toContain(first);
    expect(await idsOf({ region: "us", key: "research", severity: "critical" })).toHaveLength(2);
    for (const query of [{ severity: "info,warning" }, { key: "evals" }, { to: "2s" }]) {
      expect(await idsOf(query)).toEqual([]);
    }
    world.show(0, "idle");
    await world.poll();
    expect(await idsOf({ state: "firing", rule: "server-error" })).toEqual([second]);
    expect(await idsOf({ state: ["resolved"] })).toEqual([first]);
    const page = await api(listIncidents, { limit: 1 });
    const rest = await api(listIncidents, { limit: 1, before: page.next ?? "" });
    const ids = [...page.incidents, ...rest.incidents].map(({ id }) => id);
    expect([new Set(ids).size, rest.next]).toEqual([2, null]);
  });

  it("that change later are listed again, each as it is now", async () => {
    const world = await erring();
    const { api } = world.daemon();
    const { after, incidents } = await api(listIncidents, {});
    const later = async (cursor: string, query = {}) => {
      const view = await api(listIncidents, { after: cursor, ...query });
      const lines = view.incidents.map(({ server_id, state }) => `${server_id} ${state}`);
      return { ...view, lines };
    };
    const [first = "", second = ""] = world.serverIds;
    expect(await later(after)).toMatchObject({ lines: [], after, next: null });
    world.show(1, "error");
    await world.poll();
    const opened = await later(after);
    expect(opened.lines).toEqual([`${second} firing`]);
    await api(acknowledgeIncident, { id: incidents[0]?.id ?? "", author: "ann" });
    expect((await later(opened.after)).incidents).toMatchObject([
      { server_id: first, acknowledged_by: "ann" },
    ]);
    world.show(0, "idle");
    await world.poll();
    expect((await later(after)).lines).toEqual([`${second} firing`, `${first} resolved`]);
    expect((await later(after, { state: "resolved" })).lines).toEqual([`${first} resolved`]);
    const one = await later(after, { limit: 1 });
    expect((await later(one.after, { limit: 1 })).lines).toEqual([`${first} resolved`]);
  });

  it("are all listed after a cursor of another store", async () => {
    const { api } = (await erring(2)).daemon();
    const { incidents, after } = await api(listIncidents, {});
    const later = await api(listIncidents, { after: "500_00000000-0000-4000-8000-000000000000" });
    expect(new Set(later.incidents)).toEqual(new Set(incidents));
    expect(later).toMatchObject({ after, next: null });
  });
});

describe("events", () => {
  it("are the changes and incidents that were stored after a cursor", async () => {
    const world = await erring();
    const { api } = world.daemon();
    const begin = await readEvents(api, {});
    expect(begin).toEqual({ events: [], after: begin.after, hasMore: false });
    world.show(1, "error");
    await world.poll();
    const { changes } = await api(listChanges, { limit: 1 });
    const { incidents } = await api(listIncidents, { limit: 1 });
    const news = await readEvents(api, { after: begin.after });
    expect(news.events).toEqual([
      { kind: "change", view: changes[0] },
      { kind: "incident", view: incidents[0] },
    ]);
    expect(await readEvents(api, { after: news.after })).toEqual({ ...begin, after: news.after });
  });

  it("are only those that are selected; the cursor passes the others", async () => {
    const world = await erring();
    const { api } = world.daemon();
    const { after } = await readEvents(api, {});
    world.show(1, "error");
    world.show(2, "occupied");
    await world.poll();
    const kinds = async (query: object) =>
      (await readEvents(api, { ...query, after })).events.map(({ kind }) => kind);
    expect(await kinds({ kind: "incident" })).toEqual(["incident"]);
    expect(await kinds({ kind: "change,incident" })).toEqual(["change", "change", "incident"]);
    expect(await kinds({ server: world.serverIds[2] })).toEqual(["change"]);
    const [{ sandbox_id: sandbox } = { sandbox_id: "" }] = (await api(listChanges, {})).changes;
    expect(await kinds({ sandbox, kind: "change" })).toEqual(["change", "change"]);
    const other = await readEvents(api, { after, region: "eu" });
    expect(other.events).toEqual([]);
    expect(await readEvents(api, { after: other.after })).toMatchObject({ events: [] });
  });

  it("are read 500 at a time, and served by the daemon", async () => {
    const world = await watchWorld({ servers: 600 });
    await world.poll();
    const { api } = world.daemon();
    const first = await readEvents(api, { after: "0_0,0_" });
    expect([first.events.length, first.hasMore]).toEqual([500, true]);
    const rest = await readEvents(api, { after: first.after });
    const { changes } = await api(listChanges, { subject: "sandbox", limit: 1_000 });
    expect(changes.length).toBeGreaterThan(100);
    expect([rest.events.length, rest.hasMore]).toEqual([100 + changes.length, false]);
    const response = await fetch(`${await world.address()}/api/v1/events?after=${first.after}`);
    let text = "";
    for await (const chunk of response.body?.pipeThrough(new TextDecoderStream()) ?? []) {
      text += chunk;
      if (/\nid: /.test(text)) break;
    }
    const sent = Array.from(text.matchAll(/^data: (.*)$/gm), ([, data = ""]) => JSON.parse(data));
    expect(sent).toEqual(rest.events.map(({ view }) => view));
  });
});
