import { describe, expect, it } from "vitest";
import { acknowledgeIncident, listIncidents } from "../../src/api/operations/incidents.ts";
import { listProbes } from "../../src/api/operations/probes.ts";
import { addSilence } from "../../src/api/operations/silences.ts";
import { createApiClient } from "../../src/api/client.ts";
import { runCommand } from "../support/run-command.ts";
import { told } from "../support/heard.ts";
import { apiKey, watchWorld } from "../support/watched-world.ts";
import type { WatchedWorld, WorldOptions } from "../support/watched-world.ts";

const rules = [{ name: "probe-failing", on: "probe", failing: { polls: 2 } }];
const login = { name: "login", operation: "user", id: "user-1", every: "5s" };
const unknownUser = { kind: "status", status: 404, operation: "get_user" } as const;

function probing(options: WorldOptions = {}): Promise<WatchedWorld> {
  return watchWorld({ probes: [login], alerts: { rules }, ...options });
}

function logged(world: WatchedWorld, event: string): number {
  return world.log.filter((line) => line.event === event).length;
}

describe("a probe that fails", () => {
  it("is told of once after so many runs, over a restart, and once that it works again", async () => {
    const world = await probing();
    await world.poll();
    world.fail(unknownUser);
    await world.poll();
    expect(told(world)).toEqual([]);
    await world.poll(2);
    expect(told(world)).toEqual(["probe-failing firing"]);
    expect(world.alerts[0]?.data).toMatchObject({
      summary: "probe login failing (http_error) in us (research)",
      incidents: [
        { subject: "probe", probe: "login", region: "us", key: "research", server_id: null },
      ],
    });
    await world.restart();
    await world.poll(2);
    expect(told(world)).toEqual(["probe-failing firing"]);
    world.fail();
    await world.poll();
    expect(told(world)).toEqual(["probe-failing firing", "probe-failing resolved"]);
    const [fired, resolved] = world.alerts.map(({ data }) => data.incidents[0]);
    expect(resolved).toMatchObject({ id: fired?.id, resolved_reason: "recovered" });
    expect(world.alerts[1]?.data.summary).toBe("probe login no longer failing in us (research)");
    expect(world.peer.refused).toEqual([]);
  });

  it("is logged once when it begins to fail and once when it works again", async () => {
    const world = await probing();
    await world.poll();
    world.fail(unknownUser);
    await world.poll(3);
    world.fail();
    await world.poll(2);
    expect(logged(world, "probe.failed")).toBe(1);
    expect(logged(world, "probe.recovered")).toBe(1);
    expect(world.log.find(({ event }) => event === "probe.failed")).toMatchObject({
      probe: "login",
      region: "us",
      key: "research",
      operation: "get_user",
      reason: "http_error",
      detail: "HTTP 404: nothing is known by this id",
    });
    expect(world.log.find(({ event }) => event === "incident.fired")).toMatchObject({
      rule: "probe-failing",
      probe: "login",
      msg: "probe-failing fired: probe login/us/research",
    });
  });

  it("is told as over when it or its rule is taken out of the configuration", async () => {
    for (const changed of [{ probes: [{ ...login, name: "other" }] }, { alerts: { rules: [] } }]) {
      const world = await probing();
      world.fail(unknownUser);
      await world.poll(2);
      await world.restart(changed);
      await world.poll();
      expect(told(world)).toEqual(["probe-failing firing", "probe-failing resolved"]);
      expect(world.alerts[1]?.data.incidents[0]?.resolved_reason).toBe("rule_removed");
    }
  });

  it("is not told of while somebody was told that its target cannot be seen", async () => {
    const both = [{ name: "blind", on: "target", failing: { polls: 1 } }, ...rules];
    const world = await probing({ alerts: { rules: both } });
    world.fail({ kind: "status", status: 500 });
    await world.poll(5);
    expect(told(world)).toEqual(["blind firing"]);
    world.fail(unknownUser);
    await world.poll(2);
    expect(told(world)).toEqual(["blind firing", "blind resolved", "probe-failing firing"]);
  });

  it("can be silenced by region, acknowledged, and is listed with the incidents", async () => {
    const world = await probing();
    world.fail(unknownUser);
    await world.poll(2);
    const { incidents } = await world.daemon().api(listIncidents, { state: "firing" });
    expect(incidents).toMatchObject([{ subject: "probe", probe: "login", region: "us" }]);
    const { api } = world.daemon();
    await api(acknowledgeIncident, { id: incidents[0]?.id ?? "", author: "ann" });
    const silence = { author: "ann", reason: "known", duration: "1h" };
    await api(addSilence, { match: { region: "us", rule: "probe-*" }, ...silence });
    await world.poll();
    expect(told(world)).toEqual(["probe-failing firing", "probe-failing resolved"]);
    expect(world.alerts[1]?.data.incidents[0]?.resolved_reason).toBe("silenced");
  });

  it("can be silenced by its name alone", async () => {
    const other = { ...login, name: "other", id: "user-2" };
    const world = await probing({ probes: [login, other] });
    const silence = { author: "ann", reason: "known", duration: "1h" };
    await world.daemon().api(addSilence, { match: { probe: "log*" }, ...silence });
    world.fail(unknownUser);
    await world.poll(2);
    expect(told(world)).toEqual(["probe-failing firing"]);
    expect(world.alerts[0]?.data.incidents).toMatchObject([{ probe: "other" }]);
  });

  it("does not keep sandwatch from stopping while no answer comes", async () => {
    const world = await probing();
    world.fail({ kind: "hang", operation: "get_user" });
    world.daemon().watch();
    await world.daemon().stop();
    expect(logged(world, "probe.failed")).toBe(0);
  });

  it("leaves nothing half kept when the store does not take a run, and is told of later", async () => {
    let broken = false;
    const world = await probing({
      wrapStore: (store) => ({
        ...store,
        probes: {
          ...store.probes,
          commitRun: (id, verdict) =>
            broken ? Promise.reject(new Error("disk full")) : store.probes.commitRun(id, verdict),
        },
      }),
    });
    world.fail(unknownUser);
    await world.poll();
    broken = true;
    await world.poll(3);
    expect(told(world)).toEqual([]);
    expect(logged(world, "probe.lost")).toBe(1);
    broken = false;
    await world.poll();
    expect(told(world)).toEqual(["probe-failing firing"]);
    expect(logged(world, "probe.kept")).toBe(1);
  });
});

describe("what is expected of an answer", () => {
  const expecting = async (probe: object): Promise<unknown> => {
    const world = await watchWorld({ probes: [{ ...probe, name: "probe" }] });
    await world.poll();
    const { probes } = await world.daemon().api(listProbes, {});
    return probes[0]?.results[0];
  };

  it.each<[string, object]>([
    ["a user", { operation: "user", id: "user-1", expect: { fields: { userId: "user-1" } } }],
    ["an unknown user", { operation: "user", id: "nobody", expect: { status: 404 } }],
    ["universes", { operation: "universes", expect: { at_least: 3 } }],
    [
      "a universe's data",
      {
        operation: "universe-data",
        id: "universe-us-1",
        expect: { fields: { "slack.channels.0": "general" } },
      },
    ],
    ["a white label", { operation: "white-label", id: "client-1" }],
    [
      "a white label that is not there",
      { operation: "white-label", id: "client-suspended", expect: { success: false } },
    ],
    ["sandboxes", { operation: "sandboxes", expect: { at_least: 1 } }],
    [
      "an id with all that a path cannot hold",
      { operation: "user", id: "a/../b?%#\u{1f3d6}", expect: { status: 404 } },
    ],
  ])("of %s is seen to hold", async (_, probe) => {
    expect(await expecting(probe)).toMatchObject({ success: true, reason: null, detail: null });
  });

  it.each<[string, object, string]>([
    [
      "a user",
      { operation: "user", id: "user-1", expect: { fields: { deletedAt: { present: true } } } },
      "field deletedAt is not there",
    ],
    ["universes", { operation: "universes", expect: { at_least: 99 } }, "listed, not at least 99"],
    [
      "a white label",
      { operation: "white-label", id: "client-suspended" },
      "the answer says no success",
    ],
    ["sandboxes", { operation: "sandboxes", expect: { at_least: 99 } }, "listed, not at least 99"],
  ])("of %s is seen not to hold", async (_, probe, detail) => {
    expect(await expecting(probe)).toMatchObject({
      success: false,
      reason: "unmet",
      detail: expect.stringContaining(detail),
    });
  });
});

describe("what there is to see of probes", () => {
  const universes = { name: "worlds", operation: "universes", expect: { at_least: 99 } };

  it("is in the metrics", async () => {
    const world = await watchWorld({ probes: [login, universes, { ...universes, name: "more" }] });
    expect(await world.metrics()).not.toMatch(/^sandwatch_probe_success\{/m);
    await world.poll();
    const lines = (await world.metrics()).split("\n");
    const labels = 'region="us",key="research"';
    expect(lines).toContain(
      `sandwatch_probe_success{probe="login",${labels},operation="get_user"} 1`,
    );
    expect(lines).toContain(
      `sandwatch_probe_success{probe="worlds",${labels},operation="list_universes"} 0`,
    );
    expect(lines).toContain(
      `sandwatch_probe_duration_seconds{probe="login",${labels},operation="get_user"} 0`,
    );
    expect(lines.filter((line) => line.startsWith("sandwatch_universes{"))).toEqual([
      expect.stringMatching(/^sandwatch_universes\{region="us",key="research"\} [3-6]$/),
    ]);
    expect(lines.join()).toMatch(
      /sandwatch_user_last_used_timestamp_seconds\{probe="login",region="us",key="research"\} 1\.?\d+/,
    );
  });

  it("is answered by the API and the command alike, latest run first", async () => {
    const world = await probing();
    await world.poll();
    world.fail(unknownUser);
    await world.poll(2);
    const client = createApiClient(await world.address());
    const view = await client(listProbes, { probe: "login,logn", limit: 2 });
    expect(view).toEqual(await world.daemon().api(listProbes, { probe: "login,logn", limit: 2 }));
    expect(view).toMatchObject({
      probes: [{ probe: "login", state: "failing", failures_in_a_row: 2 }],
      notes: ['no probe is called "logn", there are: login; did you mean "login"?'],
    });
    expect(view.probes[0]?.results.map(({ reason }) => reason)).toEqual([
      "http_error",
      "http_error",
    ]);
    expect((await client(listProbes, {})).probes[0]?.results).toHaveLength(3);
    await expect(client(listProbes, { limit: 0 })).rejects.toThrow("limit: a whole number from 1");
  });

  it("is a table for a person, also when no daemon runs", async () => {
    const world = await watchWorld({ probes: [login, universes] });
    await world.poll(2);
    const url = await world.address();
    const printed = await runCommand(["probes", "--url", url]);
    expect(printed.out.split("\n")).toEqual([
      expect.stringMatching(/^probe +region +key +operation +state +last run +took +what failed$/),
      expect.stringMatching(/^login +us +research +get_user +ok +2026-\S+Z +0s$/),
      expect.stringMatching(
        /^worlds +us +research +list_universes +failing \(2 runs\) +2026-\S+Z +0s +unmet: \d listed, not at least 99$/,
      ),
      "",
    ]);
    expect(await runCommand(["probes", "--url", url, "--probe", "none"])).toEqual({
      code: 0,
      out: "There are no such probes.\n",
      err: 'note: no probe is called "none", there are: login, worlds\n',
    });
  });

  it("is on the status page, those that fail first", async () => {
    const world = await watchWorld({ probes: [login, universes] });
    await world.poll();
    const page = await (await fetch(await world.address())).text();
    expect(page).toContain("<h2>Probes</h2>");
    const failing = page.search(/failing: \d listed, not at least 99/);
    expect(failing).toBeGreaterThan(page.indexOf("<td>worlds</td>"));
    expect(page.indexOf("<td>login</td>")).toBeGreaterThan(failing);
  });

  it("holds neither the id that is asked for, nor the key, nor anything of the answer", async () => {
    const fields = { userId: "another", createdAt: "another" };
    const probe = { ...login, id: "user-2", expect: { fields } };
    const world = await probing({ probes: [probe] });
    await world.poll(2);
    const page = await (await fetch(await world.address())).text();
    const api = JSON.stringify(await world.daemon().api(listProbes, {}));
    const messages = JSON.stringify(world.alerts);
    const all = [page, api, messages, await world.metrics(), JSON.stringify(world.log)].join("\n");
    expect(all).toContain("field userId has another value");
    expect(all).not.toContain("user-2");
    expect(all).not.toContain(apiKey);
  });

  it("goes with a probe that the configuration has no more, and stays with one that it has", async () => {
    const world = await watchWorld({ probes: [login, universes] });
    await world.poll(2);
    await world.restart({ probes: [universes] });
    await world.restart({ probes: [login, universes] });
    const { probes } = await world.daemon().api(listProbes, {});
    expect(probes.map(({ results }) => results.length)).toEqual([0, 2]);
    expect(probes.map(({ state }) => state)).toEqual(["not_run", "failing"]);
  });
});
