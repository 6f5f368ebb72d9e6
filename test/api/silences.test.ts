import { describe, expect, it } from "vitest";
import { listIncidents } from "../../src/api/operations/incidents.ts";
import {
  discardNotifications,
  listNotifications,
  replayNotifications,
} from "../../src/api/operations/notifications.ts";
import {
  changeSilence,
  expireSilence,
  showSilence,
} from "../../src/api/operations/change-silence.ts";
import { addSilence, listSilences } from "../../src/api/operations/silences.ts";
import type { Store } from "../../src/store/store.ts";
import { watchWorld } from "../support/watched-world.ts";
import { erring, refusal, sharedBeginning, sound } from "./support/api-world.ts";

const dayMs = 86_400_000;

const sundays = { name: "sundays", start: "0 2 * * SUN", duration: "2h", match: { key: "*" } };

describe("a silence", () => {
  it("suppresses the notifications of the incidents that it matches", async () => {
    const world = await watchWorld();
    const { api } = world.daemon();
    await api(addSilence, sound);
    world.show(0, "error");
    await world.poll();
    const { incidents } = await api(listIncidents, {});
    expect(incidents).toMatchObject([{ state: "firing", muted: true, receivers: [] }]);
  });

  it("of an incident matches its rule and subject, and says how many incidents fire there", async () => {
    const { api } = (await erring(3)).daemon();
    const { incidents } = await api(listIncidents, {});
    const [{ id, server_id: server } = { id: "", server_id: "" }] = incidents;
    const about = { author: "ann", reason: "being moved", duration: "2h" };
    const one = await api(addSilence, { ...about, incident: id });
    const match = { rule: ["server-error"], region: ["us"], key: ["research"] };
    expect(one).toMatchObject({ match: { ...match, server_id: [server] }, matched: 1 });
    const all = await api(addSilence, { ...about, match: { rule: "*" } });
    const none = await api(addSilence, { ...about, match: { region: "eu" }, force: true });
    expect([all.matched, none.matched]).toEqual([3, 0]);
    const unknown = api(addSilence, { ...about, incident: "nothing" });
    await expect(unknown).rejects.toMatchObject(refusal("not_found"));
  });

  it("gets another id when the one that was drawn for it is taken", async () => {
    const ids = ["first", "first", "second"];
    const { api } = (
      await watchWorld({ overrides: { newSilenceId: () => ids.shift() ?? "" } })
    ).daemon();
    for (const id of ["first", "second"]) {
      const match = { key: id };
      expect(await api(addSilence, { ...sound, match, force: true })).toMatchObject({ id });
    }
  });

  it("is listed as it was requested", async () => {
    const { api } = (await watchWorld()).daemon();
    await api(addSilence, {
      match: { server_name: ["git*", "jira"], tag: "prod" },
      author: "bob",
      reason: "an upgrade",
      starts_at: "2026-11-20T13:00:00+02:00",
      ends_at: "2026-11-20T12:00:00Z",
    });
    const { silences } = await api(listSilences, {});
    expect(silences).toEqual([
      {
        id: expect.any(String),
        kind: "silence",
        state: "to_come",
        match: { server_name: ["git*", "jira"], tag: ["prod"] },
        author: "bob",
        reason: "an upgrade",
        created_at: "2026-11-20T09:30:00.000Z",
        starts_at: "2026-11-20T11:00:00.000Z",
        ends_at: "2026-11-20T12:00:00.000Z",
        changed_by: null,
        changed_at: null,
      },
    ]);
  });

  it("that matches the same as an open one prolongs it, whatever its order, and never shortens it", async () => {
    const world = await watchWorld();
    const { api } = world.daemon();
    const match = { region: ["us", "eu"], rule: "server-error" };
    const { id, prolonged } = await api(addSilence, { ...sound, match, force: true });
    expect(prolonged).toBe(false);
    world.clock.advance(60_000);
    const same = { rule: "server-error", region: ["eu", "us", "eu"] };
    const second = { ...sound, match: same, force: true, author: "bob", reason: "still moving" };
    const until = { id, reason: "still moving", author: "ann", changed_by: "bob", prolonged: true };
    expect(await api(addSilence, { ...second, duration: "3h" })).toMatchObject({
      ...until,
      ends_at: "2026-11-20T12:31:00.000Z",
    });
    expect(await api(addSilence, { ...second, duration: "1m" })).toMatchObject({
      ...until,
      ends_at: "2026-11-20T12:31:00.000Z",
    });
    const later = { ...second, duration: "1h", starts_at: "2026-11-20T12:31:00.001Z" };
    expect(await api(addSilence, later)).toMatchObject({ prolonged: false, state: "to_come" });
    const other = { ...second, match: { region: "us", rule: "server-error" } };
    expect(await api(addSilence, other)).toMatchObject({ prolonged: false });
    expect((await api(listSilences, {})).silences).toHaveLength(3);
  });

  it("is shortened, prolonged and ended by its id, and shows who did it", async () => {
    const world = await watchWorld();
    const { api } = world.daemon();
    const { id } = await api(addSilence, sound);
    const shorter = await api(changeSilence, { id, author: "bob", duration: "10m" });
    expect(shorter).toMatchObject({ ends_at: "2026-11-20T09:40:00.000Z", changed_by: "bob" });
    world.clock.advance(60_000);
    const until = { id, author: "cem", ends_at: "2026-11-20T15:00:00Z" };
    expect(await api(changeSilence, until)).toMatchObject({ author: "ann", changed_by: "cem" });
    const past = { ...until, ends_at: "2026-11-20T09:30:00Z" };
    const refused = "The silence cannot be changed. Allowed: ends_at: an end in the future";
    await expect(api(changeSilence, past)).rejects.toMatchObject(refusal("invalid", refused));
    await world.restart();
    const known = { state: "in_force", ends_at: "2026-11-20T15:00:00.000Z" };
    expect(await world.daemon().api(showSilence, { id })).toMatchObject(known);
    const ended = await world.daemon().api(expireSilence, { id, author: "dan" });
    expect(ended).toMatchObject({ state: "ended", changed_by: "dan" });
    await expect(world.daemon().api(changeSilence, until)).rejects.toMatchObject(
      refusal("conflict", "has ended already"),
    );
  });

  it("that would start in the past starts now, as what was notified had not been silenced", async () => {
    const { api } = (await watchWorld()).daemon();
    const now = "2026-11-20T09:30:00.000Z";
    const asked = { ...sound, starts_at: "2026-11-20T08:30:00Z" };
    const times = { created_at: now, starts_at: now, ends_at: "2026-11-20T11:30:00.000Z" };
    expect(await api(addSilence, asked)).toMatchObject(times);
    expect((await api(listSilences, {})).silences).toMatchObject([times]);
  });

  it("is refused where there are a thousand that have not ended", async () => {
    let stored: Store | undefined;
    const world = await watchWorld({ wrapStore: (store) => (stored = store) });
    const { api } = world.daemon();
    const present = await api(addSilence, sound);
    const nowMs = world.clock.now().utcMs;
    const times = { createdAtMs: nowMs, startsAtMs: nowMs, endsAtMs: nowMs + dayMs };
    for (let count = 1; count < 999; count += 1)
      await stored?.silences.add({
        ...times,
        id: `s${count}`,
        match: { region: ["us"] },
        author: "ann",
        reason: "moved",
      });
    const other = { ...sound, match: { key: "a" }, force: true };
    expect(await api(addSilence, other)).toMatchObject({ state: "in_force" });
    const full = refusal("conflict", "There are already 1000 open silences.");
    const third = { ...sound, match: { key: "b" }, force: true };
    await expect(api(addSilence, third)).rejects.toMatchObject(full);
    await api(expireSilence, { id: present.id });
    expect(await api(addSilence, third)).toMatchObject({ state: "in_force" });
  });

  it("is listed latest first, a page at a time", async () => {
    const world = await watchWorld();
    const { api } = world.daemon();
    for (const author of ["a", "b", "c"]) {
      await api(addSilence, { ...sound, author, match: { key: author }, force: true });
      world.clock.advance(1);
    }
    const first = await api(listSilences, { limit: 2 });
    const rest = await api(listSilences, { limit: 2, before: first.next ?? "" });
    const pages = [first, rest].map(({ silences }) => silences.map((each) => each.author));
    expect([pages, rest.next]).toEqual([[["c", "b"], ["a"]], null]);
  });

  it("is expired by the beginning of its id, once, and kept for thirty days", async () => {
    const world = await watchWorld();
    const { api } = world.daemon();
    const ids: string[] = [];
    for (let count = 0; count < 20; count += 1)
      ids.push((await api(addSilence, { ...sound, match: { key: `k${count}` }, force: true })).id);
    const expire = (id: string) => api(expireSilence, { id });
    await expect(expire(sharedBeginning(ids))).rejects.toMatchObject(
      refusal("conflict", "prefix of several ids"),
    );
    const [id = ""] = ids;
    world.clock.advance(60_000);
    const ended = { id, state: "ended", ends_at: "2026-11-20T09:31:00.000Z" };
    expect(await expire(id.slice(0, 13))).toMatchObject(ended);
    expect((await api(listSilences, {})).silences).toHaveLength(19);
    expect((await api(listSilences, { ended: true })).silences).toHaveLength(20);
    const again = `Silence ${id} has ended already, at 2026-11-20T09:31:00.000Z.`;
    await expect(expire(id)).rejects.toMatchObject(refusal("conflict", again));
    world.clock.advance(31 * dayMs);
    await world.poll();
    expect((await api(listSilences, { ended: true })).silences).toEqual([]);
  });

  it("must exist, and be no maintenance window, to be expired", async () => {
    const world = await watchWorld({ alerts: { maintenance: [sundays] } });
    const { api } = world.daemon();
    await expect(api(expireSilence, { id: "nothing" })).rejects.toMatchObject(refusal("not_found"));
    for (const id of ["sundays", "maintenance:sundays"]) {
      await expect(api(expireSilence, { id })).rejects.toMatchObject(
        refusal("conflict", "(alerts.maintenance)"),
      );
    }
    expect((await api(listSilences, {})).silences).toMatchObject([
      { kind: "maintenance", state: "to_come", starts_at: "2026-11-22T02:00:00.000Z" },
    ]);
  });
});

describe("a note", () => {
  it("is added about each name and pattern of a silence that matches nothing", async () => {
    const world = await watchWorld();
    await world.poll();
    const { api } = world.daemon();
    const names = {
      rule: ["server-eror", "target-*", "receiver-failing"],
      severity: "urgent",
      region: ["us", "e*"],
      key: "reserch",
      probe: "login",
    };
    const servers = {
      sandbox_id: "y",
      server_id: "x?",
      server_name: ".*",
      benchmark: "z",
      tag: "t",
    };
    const misspelt = { ...sound, match: { ...names, ...servers } };
    const refused = refusal("invalid", 'did you mean "server-error"? To add it all the same, set');
    await expect(
      api(addSilence, { ...sound, match: { rule: "server-eror" } }),
    ).rejects.toMatchObject(refused);
    const elsewhere = refusal("invalid", 'has the server_name "jira"');
    const unlisted = { ...sound, match: { region: "us", server_name: "jira" } };
    await expect(api(addSilence, unlisted)).rejects.toMatchObject(elsewhere);
    expect((await api(listSilences, {})).silences).toEqual([]);
    const { id, notes } = await api(addSilence, { ...misspelt, force: true });
    expect(notes).toEqual([
      'no rule is called "server-eror"; known: server-error, sandbox-error, key-refused, target-down, target-partial, region-down, receiver-failing; did you mean "server-error"?',
      'no severity is called "urgent"; known: critical, warning, info',
      'no region is called "e*"; known: us',
      'no key is called "reserch"; known: research; did you mean "research"?',
      'no probe is called "login"; known: none',
      ...Object.entries(servers).map(
        ([field, pattern]) =>
          `no known server or sandbox has the ${field} "${pattern}"; only * is a wildcard, for any characters`,
      ),
    ]);
    expect((await api(listSilences, {})).silences).toMatchObject([{ id }]);
    const [server = ""] = world.serverIds;
    const known = { server_name: ["*"], server_id: [server, `${server.slice(0, 8)}*`] };
    expect((await api(addSilence, { ...sound, match: known })).notes).toEqual([]);
  });

  it("is added about a name by which nothing was found", async () => {
    const { api } = (await erring()).daemon();
    expect((await api(listIncidents, { rule: "server-eror" })).notes).toEqual([
      expect.stringContaining('did you mean "server-error"?'),
    ]);
    const receiver = "on-call";
    const misspelt = [
      expect.stringContaining('no receiver is called "on-call"; known: oncall; did you mean'),
    ];
    expect((await api(listNotifications, { receiver })).notes).toEqual(misspelt);
    expect((await api(replayNotifications, { receiver })).notes).toEqual(misspelt);
    expect((await api(discardNotifications, { receiver })).notes).toEqual(misspelt);
    expect((await api(discardNotifications, { receiver: "oncall" })).notes).toEqual([]);
    expect((await api(listIncidents, { rule: "target-down" })).notes).toEqual([]);
  });
});
