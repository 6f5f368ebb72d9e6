import { copyFileSync, existsSync, readdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { describe, expect, it, onTestFinished } from "vitest";
import { openStore } from "../../src/store/store.ts";
import { writeConfig } from "../support/config-file.ts";
import { listIncidents } from "../../src/api/operations/incidents.ts";
import { addSilence } from "../../src/api/operations/silences.ts";
import { told } from "../support/heard.ts";
import { runCommand } from "../support/run-command.ts";
import { dumpStore, storeBytes } from "../support/store-dump.ts";
import { tempFolder } from "../support/temp-folder.ts";
import { watchWorld } from "../support/watched-world.ts";
import type { WatchedWorld } from "../support/watched-world.ts";

const rules = [
  { name: "erring", on: "server", status: "error" },
  { name: "probe-failing", on: "probe", failing: { polls: 1 } },
  { name: "pool-full", on: "pool", by: ["region", "key"], occupied_ratio: { above: 0.1 } },
];
const probes = [{ name: "login", operation: "user", id: "user-1", every: "5s" }];

/** A world with an open incident of each kind, a dead letter and a silence. */
async function watched(): Promise<WatchedWorld> {
  const world = await watchWorld({
    servers: 4,
    alerts: { rules },
    probes,
    receiver: { give_up_after: "1m" },
  });
  await world.poll();
  const { api } = world.daemon();
  const silence = { match: { rule: "nothing" }, author: "ann", reason: "old", duration: "1m" };
  await api(addSilence, silence);
  world.show(0, "error");
  world.show(1, "occupied");
  world.fail({ kind: "status", status: 404, operation: "get_user" });
  world.peer.answer(400);
  await world.poll(2);
  return world;
}

/** A configuration in which everything has another name: in JSON, which is YAML. */
function renamed(store: string): string {
  const config = join(dirname(store), "renamed.yaml");
  const settings = {
    regions: { eu: { base_url: "http://127.0.0.1:1" } },
    keys: [{ name: "production", api_key: "none" }],
    store: { path: store },
    http: { listen: "127.0.0.1:0" },
    alerts: {
      rules: [{ name: "renamed", on: "server", status: "error" }],
      receivers: [{ name: "other", type: "webhook", url: "http://127.0.0.1:1/" }],
    },
  };
  writeFileSync(config, JSON.stringify(settings));
  return config;
}

function firstId(world: WatchedWorld): Promise<string> {
  const asked = world.daemon().api(listIncidents, { state: "firing", rule: "erring" });
  return asked.then(({ incidents }) => incidents[0]?.id ?? "");
}

const queries: readonly (readonly string[])[] = [
  ["incidents", "--state", "firing"],
  ["changes"],
  ["explain", "SERVER"],
  ["report", "--from", "2026-11-20T00:00Z", "--to", "2026-11-21T00:00Z"],
  ["insights", "--from", "2026-11-20T00:00Z", "--to", "2026-11-21T00:00Z"],
  ["probes"],
  ["drift"],
  ["notifications", "list"],
  ["notifications", "show", "1"],
  ["silence", "list", "--ended"],
];

describe("a query while no daemon runs", () => {
  it("changes nothing in the store, whatever its configuration names", async () => {
    const world = await watched();
    const store = world.config.store.path;
    await world.daemon().stop();
    const config = renamed(store);
    const before = dumpStore(store);
    const bytes = storeBytes(store);
    expect(before["incidents"]).toHaveLength(4);
    for (const query of queries) {
      const args = query.map((each) => (each === "SERVER" ? (world.serverIds[0] ?? "") : each));
      const ended = await runCommand([...args, "--config", config]);
      expect([args, ended.code]).toEqual([args, 0]);
      expect(storeBytes(store)).toEqual(bytes);
    }
    expect(dumpStore(store)).toEqual(before);
    const listed = await runCommand(["incidents", "--config", config]);
    expect(listed.out).toMatch(/ firing .* erring /);
    expect(listed.out).not.toContain("rule_removed");
  });

  it("reads the log that a killed daemon left, and leaves it", async () => {
    const world = await watched();
    const store = join(tempFolder(), "killed.db");
    for (const end of ["", "-wal"]) copyFileSync(world.config.store.path + end, store + end);
    const bytes = storeBytes(store);
    expect(bytes[1]).not.toBeNull();
    const { code, out } = await runCommand(["incidents", "--config", renamed(store)]);
    expect([code, out]).toEqual([0, expect.stringContaining("erring")]);
    expect(storeBytes(store)).toEqual(bytes);
  });

  it("creates no store, and touches none of another version", async () => {
    const store = join(tempFolder(), "none.db");
    const config = renamed(store);
    const before = readdirSync(dirname(store));
    for (const [command = "", ...args] of queries) {
      const ended = await runCommand([command, ...args, "--config", config]);
      expect(ended).toMatchObject({ code: 1, err: expect.stringContaining("There is no store") });
    }
    expect(readdirSync(dirname(store))).toEqual(before);

    const world = await watched();
    const old = world.config.store.path;
    await world.daemon().stop();
    using database = new DatabaseSync(old);
    database.exec("pragma user_version = 3");
    database.close();
    const bytes = storeBytes(old);
    for (const command of [["incidents"], ["report", "--from", "1d"], ["silence", "list"]]) {
      const ended = await runCommand([...command, "--config", renamed(old)]);
      expect(ended).toMatchObject({
        code: 1,
        err: expect.stringMatching(/newer sandwatch.*another store\.path/),
      });
    }
    expect(storeBytes(old)).toEqual(bytes);
  });

  it("is not kept from reading by another one", async () => {
    const world = await watched();
    const store = world.config.store.path;
    await world.daemon().stop();
    const config = renamed(store);
    const both = await Promise.all([1, 2].map(() => runCommand(["incidents", "--config", config])));
    expect(both.map(({ code }) => code)).toEqual([0, 0]);
  });

  it("does not ask the service, and conformance alone does not need a store", async () => {
    const store = join(tempFolder(), "none.db");
    const { err } = await runCommand(["conformance", "--config", renamed(store)]);
    expect(err).toContain("without a response");
    expect(existsSync(store)).toBe(false);
  });
});

describe("a command that acts while no daemon runs", () => {
  it("writes what it says and nothing else", async () => {
    const world = await watched();
    const store = world.config.store.path;
    const incident = await firstId(world);
    await world.daemon().stop();
    const config = renamed(store);
    const said = ["--author", "ann", "--reason", "moved", "--for", "2h"];
    const acting: readonly (readonly [string, readonly string[]])[] = [
      ["silences", ["silence", "add", "--region", "us", ...said]],
      ["acknowledgements incidents commit_sequence", ["ack", incident, "--author", "ann"]],
      ["notifications", ["notifications", "replay", "--seq", "1"]],
      ["", ["notifications", "replay", "--receiver", "other"]],
    ];
    for (const [tables, args] of acting) {
      const before = dumpStore(store);
      expect(await runCommand([...args, "--config", config])).toMatchObject({ code: 0 });
      const after = dumpStore(store);
      const changed = Object.keys(before).filter(
        (table) => JSON.stringify(before[table]) !== JSON.stringify(after[table]),
      );
      expect([args, changed.toSorted()]).toEqual([
        args,
        tables.split(" ").filter(Boolean).toSorted(),
      ]);
      expect(after["incidents"]).toHaveLength(4);
      expect(JSON.stringify(after["incidents"])).not.toContain("rule_removed");
    }
    const { silences } = dumpStore(store);
    expect(silences).toHaveLength(2);
  });

  it("neither creates nor migrates a store", async () => {
    const store = join(tempFolder(), "none.db");
    const args = ["silence", "expire", "1", "--config", renamed(store)];
    expect(await runCommand(args)).toMatchObject({
      code: 1,
      err: expect.stringContaining("There is no store"),
    });
    expect(existsSync(store)).toBe(false);
  });

  it("leaves the notifications of an acknowledgement to the next daemon, which sends them once", async () => {
    const world = await watchWorld({
      alerts: { rules: rules.slice(0, 1) },
      receiver: { send_acknowledged: true },
    });
    world.show(0, "error");
    await world.poll();
    const incident = await firstId(world);
    await world.daemon().stop();
    const config = renamed(world.config.store.path);
    await runCommand(["ack", incident, "--author", "ann", "--config", config]);
    await world.restart();
    await world.poll();
    expect(told(world)).toEqual(["erring firing", "erring acknowledged"]);
    await world.restart();
    await world.poll();
    expect(told(world)).toHaveLength(2);
  });
});

it("a store that is in use by a daemon at another address is read, and not changed", async () => {
  const { config, store } = writeConfig();
  const opened = openStore(store);
  onTestFinished(() => opened.close());
  const listed = await runCommand(["silence", "list", "--config", config]);
  expect(listed).toMatchObject({ code: 0, err: "" });
  const { code, err } = await runCommand(["silence", "expire", "1", "--config", config]);
  expect(code).toBe(1);
  expect(err).toContain("is in use by another sandwatch");
  expect(err).toContain("give that with --url");
});

it.each([[["silence", "list"]], [["insights"]]])(
  "a damaged store is nobody's: %s",
  async (command) => {
    const { config, store } = writeConfig();
    writeFileSync(store, "not a database, but something dear to somebody");
    const { code, err } = await runCommand([...command, "--config", config]);
    expect(code).toBe(1);
    expect(err).toContain("is damaged or is no SQLite database");
    expect(err).not.toContain("--url");
  },
);
