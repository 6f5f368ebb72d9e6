import { describe, expect, it } from "vitest";
import { listIncidents } from "../../src/api/operations/incidents.ts";
import {
  discardNotifications,
  listNotifications,
  replayNotifications,
} from "../../src/api/operations/notifications.ts";
import { addSilence, expireSilence, listSilences } from "../../src/api/operations/silences.ts";
import { watchWorld } from "../support/watched-world.ts";
import { erring, sound } from "./support/api-world.ts";

const dayMs = 86_400_000;

describe("a silence that is to be added", () => {
  it.each<[string, object, string]>([
    ["without a reason", { reason: undefined }, "reason: the reason for the silence"],
    ["with an empty reason", { reason: "  " }, "reason: the reason for the silence"],
    ["without an author", { author: undefined }, "author: the name of the author"],
    ["without an end", { duration: undefined }, "ends_at: when it ends"],
    ["with two ends", { ends_at: "2026-11-20T12:00:00Z" }, "one of the two"],
    ["that matches all", { match: {} }, "match: at least one field"],
    ["without a match", { match: undefined }, "match: an object with fields"],
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
    const { api } = (await watchWorld()).daemon();
    const asked = api(addSilence, { ...sound, ...changes });
    await expect(asked).rejects.toMatchObject({
      kind: "invalid",
      message: expect.stringContaining(says),
    });
    expect(await api(listSilences, { ended: true })).toEqual({ silences: [], next: null });
  });

  it("is listed with all that was said, latest first", async () => {
    const { api } = (await watchWorld()).daemon();
    await api(addSilence, sound);
    await api(addSilence, {
      match: { server_name: ["git*", "jira"], tag: "prod" },
      author: "bob",
      reason: "an upgrade",
      starts_at: "2026-11-20T13:00:00+02:00",
      ends_at: "2026-11-20T12:00:00Z",
    });
    const { silences } = await api(listSilences, {});
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
    const { api } = world.daemon();
    for (const author of ["a", "b", "c", "d", "e"]) {
      await api(addSilence, { ...sound, author });
      world.clock.advance(1);
    }
    const first = await api(listSilences, { limit: 2 });
    const second = await api(listSilences, { limit: 2, before: first.next ?? "" });
    const third = await api(listSilences, { limit: 2, before: second.next ?? "" });
    const pages = [first, second, third].map(({ silences }) => silences.map((each) => each.author));
    expect(pages).toEqual([["e", "d"], ["c", "b"], ["a"]]);
    expect(third.next).toBeNull();
  });
});

describe("a name that nothing has", () => {
  const alerts = {
    maintenance: [{ name: "sundays", start: "0 2 * * SUN", duration: "2h", match: { key: "*" } }],
  };

  it("is noted in the answer to a silence, which is added all the same", async () => {
    const world = await watchWorld({ alerts });
    await world.poll();
    const { api } = world.daemon();
    const match = {
      rule: ["server-eror", "target-*", "receiver-failing"],
      severity: "urgent",
      region: ["us", "e*"],
      key: "reserch",
      probe: "login",
      server_name: "not-listed-yet",
    };
    const { id, notes } = await api(addSilence, { ...sound, match });
    expect(notes).toEqual([
      'no rule is called "server-eror"; known: server-error, target-down, target-partial, receiver-failing; did you mean "server-error"?',
      'no severity is called "urgent"; known: critical, warning, info',
      'no region is called "e*"; known: us',
      'no key is called "reserch"; known: research; did you mean "research"?',
      'no probe is called "login"; known: none',
      'no known server has the server_name "not-listed-yet"; only * is a wildcard, for any characters',
    ]);
    expect((await api(listSilences, {})).silences).toMatchObject([{ kind: "maintenance" }, { id }]);
    expect((await api(addSilence, sound)).notes).toEqual([]);
  });

  it("is noted of every field that no known server has, also where it is a pattern of another kind", async () => {
    const world = await watchWorld({ alerts });
    await world.poll();
    const { api } = world.daemon();
    const odd = { server_name: ".*", server_id: "x?", sandbox_id: "y", benchmark: "z", tag: "t" };
    const { notes } = await api(addSilence, { ...sound, match: odd });
    expect(notes.toSorted()).toEqual(
      Object.entries(odd)
        .map(
          ([field, pattern]) =>
            `no known server has the ${field} "${pattern}"; only * is a wildcard, for any characters`,
        )
        .toSorted(),
    );
    const [id = ""] = world.serverIds;
    const known = { server_name: ["*"], server_id: [id, `${id.slice(0, 8)}*`] };
    expect((await api(addSilence, { ...sound, match: known })).notes).toEqual([]);
  });

  it("is noted where nothing was found by it", async () => {
    const { api } = (await erring()).daemon();
    expect((await api(listIncidents, { rule: "server-eror" })).notes).toEqual([
      expect.stringContaining('did you mean "server-error"?'),
    ]);
    const misspelt = [
      expect.stringContaining('no receiver is called "on-call"; known: oncall; did you mean'),
    ];
    expect((await api(listNotifications, { receiver: "on-call" })).notes).toEqual(misspelt);
    expect((await api(replayNotifications, { receiver: "on-call" })).notes).toEqual(misspelt);
    expect((await api(discardNotifications, { receiver: "on-call" })).notes).toEqual(misspelt);
    expect((await api(discardNotifications, { receiver: "oncall" })).notes).toEqual([]);
    expect((await api(listIncidents, { rule: "target-down" })).notes).toEqual([]);
  });
});

describe("a silence that is expired", () => {
  it("ends now, and is kept for thirty days after its end", async () => {
    const world = await watchWorld();
    const { api } = world.daemon();
    const { id } = await api(addSilence, sound);
    world.clock.advance(60_000);
    expect(await api(expireSilence, { id })).toMatchObject({
      state: "ended",
      ends_at: "2026-11-20T09:31:00.000Z",
    });
    expect((await api(listSilences, {})).silences).toEqual([]);
    expect((await api(listSilences, { ended: true })).silences).toMatchObject([{ id }]);

    world.clock.advance(31 * dayMs);
    await api(addSilence, sound);
    await world.poll();
    expect((await api(listSilences, { ended: true })).silences).toHaveLength(1);
  });

  it("is found by the beginning of its id, if it is of one alone", async () => {
    const { api } = (await watchWorld()).daemon();
    const ids: string[] = [];
    for (let count = 0; count < 20; count += 1) ids.push((await api(addSilence, sound)).id);
    const [first = ""] = ids;
    const shared = ids.map((id) => id[0] ?? "").find((each, at, all) => all.indexOf(each) !== at);
    await expect(api(expireSilence, { id: shared ?? "" })).rejects.toMatchObject({
      kind: "conflict",
      message: expect.stringContaining("is a prefix of several ids"),
    });
    expect(await api(expireSilence, { id: first.slice(0, 13) })).toMatchObject({ id: first });
    expect((await api(listSilences, {})).silences).toHaveLength(19);
  });

  it("is not expired twice", async () => {
    const { api } = (await watchWorld()).daemon();
    const { id } = await api(addSilence, sound);
    await api(expireSilence, { id });
    await expect(api(expireSilence, { id })).rejects.toMatchObject({
      kind: "conflict",
      message: `Silence ${id} has ended already, at 2026-11-20T09:30:00.000Z.`,
    });
  });

  it("must be there, and be no maintenance window", async () => {
    const maintenance = [
      { name: "sundays", start: "0 2 * * SUN", duration: "2h", match: { region: "us" } },
    ];
    const { api } = (await watchWorld({ alerts: { maintenance } })).daemon();
    await expect(api(expireSilence, { id: "s1" })).rejects.toMatchObject({ kind: "not_found" });
    await expect(api(expireSilence, { id: "" })).rejects.toMatchObject({ kind: "invalid" });
    await expect(api(expireSilence, { id: "maintenance:sundays" })).rejects.toMatchObject({
      kind: "conflict",
      message: expect.stringContaining("(alerts.maintenance)"),
    });
    expect((await api(listSilences, {})).silences).toMatchObject([
      { kind: "maintenance", state: "to_come", starts_at: "2026-11-22T02:00:00.000Z" },
    ]);
  });
});
