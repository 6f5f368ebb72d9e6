import { describe, expect, it } from "vitest";
import type { z } from "zod";
import { listChanges } from "../../src/api/operations/changes.ts";
import { acknowledgeIncident, listIncidents } from "../../src/api/operations/incidents.ts";
import { watchWorld } from "../support/watched-world.ts";
import { erring } from "./support/api-world.ts";

describe("changes", () => {
  it("are listed latest first, of what is asked for, a page at a time", async () => {
    const world = await erring();
    const { api } = world.daemon();
    const [first = "", , third = ""] = world.serverIds;
    const whole = await api(listChanges, {});
    expect(whole).toMatchObject({ next: null, notes: [] });
    expect(whole.changes).toMatchObject([
      { server_id: first, from: "idle", to: "error", stay_seconds: null, lapse: null },
      { from: "absent", to: "idle", stay_seconds: null },
      { from: "absent" },
      { from: "absent" },
    ]);
    const page = await api(listChanges, { limit: 3 });
    const rest = await api(listChanges, { limit: 3, before: page.next ?? "" });
    expect([...page.changes, ...rest.changes]).toEqual(whole.changes);
    expect(rest.next).toBeNull();

    const idsOf = async (query: z.input<typeof listChanges.request>) =>
      (await api(listChanges, query)).changes.map(({ server_id }) => server_id);
    expect(await idsOf({ server: third })).toEqual([third]);
    expect(await idsOf({ status: "error" })).toEqual([first]);
    expect(await idsOf({ from_status: "absent,error", key: "research" })).toHaveLength(3);
    expect(await idsOf({ to_status: ["error", "absent"] })).toEqual([first]);
    expect(await idsOf({ from: "2s" })).toEqual([first]);
    expect(
      await idsOf({ to: new Date(world.clock.now().utcMs - 2_000).toISOString() }),
    ).toHaveLength(3);
    expect(await idsOf({ sandbox: "no such box" })).toEqual([]);
    expect(await idsOf({ name: ["no, such", "name"] })).toEqual([]);
  });

  it("are of the range that the clocks of a zone show", async () => {
    const world = await erring();
    const { api } = world.daemon();
    const { changes: all } = await api(listChanges, {});
    const tz = "+05:30";
    const atMs = Date.parse(all[0]?.at ?? "");
    const shown = new Date(atMs + 330 * 60_000 - 1).toISOString().replace("Z", "");
    expect((await api(listChanges, { from: shown, tz })).changes).toEqual(all.slice(0, 1));
    expect((await api(listChanges, { to: shown, tz })).changes).toEqual(all.slice(1));
    expect((await api(listIncidents, { from: shown, tz })).incidents).toHaveLength(1);
    expect((await api(listIncidents, { to: shown, tz })).incidents).toHaveLength(0);
  });

  it("that came later are told oldest first, and nothing twice or left out", async () => {
    const world = await erring();
    const { api } = world.daemon();
    const { after } = await api(listChanges, { limit: 1 });
    expect(await api(listChanges, { after })).toEqual({
      changes: [],
      next: null,
      after,
      notes: [],
    });
    for (const status of ["idle", "occupied", "idle"]) {
      world.show(0, status);
      world.show(1, status);
      await world.poll();
    }
    const told: string[] = [];
    for (let place = after; ;) {
      const later = await api(listChanges, { after: place, limit: 2 });
      told.push(...later.changes.map((each) => `${each.from} ${each.to} ${each.stay_seconds}`));
      if (later.after === place) break;
      place = later.after;
    }
    expect(told.toSorted()).toEqual([
      "error idle 5",
      "idle occupied 5",
      "idle occupied null",
      "occupied idle 5",
      "occupied idle 5",
    ]);
    expect(told[0]).toBe("error idle 5");
  });

  it("are refused what cannot be meant, and told of names that nothing has", async () => {
    const { api } = (await watchWorld()).daemon();
    const refused = async (query: object): Promise<unknown> =>
      api(listChanges, query).catch((error: unknown) => error);
    const kind = "invalid";
    expect(await refused({ from: "1h", to: "2h" })).toMatchObject({
      kind,
      faults: [{ path: "to" }],
    });
    expect(await refused({ from: "soon" })).toMatchObject({ kind, faults: [{ path: "from" }] });
    expect(await refused({ tz: "Mars" })).toMatchObject({ kind, faults: [{ path: "tz" }] });
    expect(await refused({ status: "busy" })).toMatchObject({ kind, faults: [{ path: "status" }] });
    expect(await refused({ before: "1_2_3" })).toMatchObject({
      kind,
      faults: [{ path: "before" }],
    });
    expect(await refused({ after: "x" })).toMatchObject({ kind, faults: [{ path: "after" }] });
    expect(await refused({ after: "1_1", from: "1h" })).toMatchObject({ kind });
    expect(await refused({ servers: "x" })).toMatchObject({ kind, faults: [{ path: "servers" }] });
    const { changes, notes } = await api(listChanges, { region: "uss" });
    expect([changes, notes]).toEqual([
      [],
      ['no region is called "uss"; known: us; did you mean "us"?'],
    ]);
  });
});

describe("incidents", () => {
  it("are those that fit every field of what is asked", async () => {
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
    expect(await idsOf({ severity: "info,warning" })).toEqual([]);
    expect(await idsOf({ key: "evals" })).toEqual([]);
    expect(await idsOf({ from: "2s" })).toHaveLength(2);
    expect(await idsOf({ to: "2s" })).toEqual([]);
  });

  it("that came or became another are told later, each as it is now", async () => {
    const world = await erring();
    const { api } = world.daemon();
    const { after, incidents } = await api(listIncidents, {});
    const later = async (place: string, query = {}) => {
      const view = await api(listIncidents, { after: place, ...query });
      return {
        ...view,
        lines: view.incidents.map(({ server_id, state }) => `${server_id} ${state}`),
      };
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
    expect([one.lines, (await later(one.after, { limit: 1 })).lines]).toEqual([
      [`${second} firing`],
      [`${first} resolved`],
    ]);
  });

  it("that came after ones that were dropped meanwhile are told, and none that was told before", async () => {
    const world = await watchWorld({
      alerts: {
        rules: [{ name: "slow", on: "server", status: "error", for: "8s", receivers: ["oncall"] }],
      },
    });
    const { api } = world.daemon();
    const enter = async (server: number, status: string): Promise<void> => {
      world.show(server, status);
      await world.poll();
    };
    const idsAfter = async (place: string) =>
      (await api(listIncidents, { after: place })).incidents.map(({ server_id }) => server_id);
    await enter(0, "error");
    await enter(1, "error");
    const { after } = await api(listIncidents, {});
    await enter(0, "idle");
    await enter(1, "idle");
    const { incidents, after: empty } = await api(listIncidents, {});
    expect(incidents).toEqual([]);
    await enter(2, "error");
    const [, , third = ""] = world.serverIds;
    expect(await idsAfter(after)).toEqual([third]);
    expect(await idsAfter(empty)).toEqual([third]);
    expect(await idsAfter((await api(listIncidents, {})).after)).toEqual([]);
  });

  it("are all told after a place that there is not yet, as where the store was begun anew", async () => {
    const world = await erring(2);
    const { api } = world.daemon();
    const { incidents, after } = await api(listIncidents, {});
    const past = "500_00000000-0000-4000-8000-000000000000";
    const told = await api(listIncidents, { after: past });
    expect(new Set(told.incidents.map(({ id }) => id))).toEqual(
      new Set(incidents.map(({ id }) => id)),
    );
    expect(told).toMatchObject({ after, next: null });
    const [one] = (await api(listIncidents, { after: past, limit: 1 })).incidents;
    expect(one).toEqual(told.incidents[0]);
  });
});
