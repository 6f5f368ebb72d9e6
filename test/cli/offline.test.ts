import { copyFileSync, existsSync, readdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { describe, expect, it, onTestFinished } from "vitest";
import { openStore } from "../../src/store/store.ts";
import { listIncidents } from "../../src/api/operations/incidents.ts";
import { addSilence } from "../../src/api/operations/silences.ts";
import { writeConfig } from "../support/config-file.ts";
import { notifications } from "../support/heard.ts";
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

/** A world with an open incident of each kind, a dead letter and a silence. */
async function watched(): Promise<WatchedWorld> {
  const world = await watchWorld({
    servers: 4,
    alerts: { rules },
    probes: [{ name: "login", operation: "user", id: "user-1", every: "5s" }],
    receiver: { give_up_after: "1m" },
  });
  await world.poll();
  const silence = { match: { rule: "nothing" }, author: "ann", reason: "old", duration: "1m" };
  await world.daemon().api(addSilence, silence);
  world.show(0, "error");
  world.show(1, "occupied");
  world.fail({ kind: "status", status: 404, operation: "get_user" });
  world.peer.answer(400);
  await world.poll(2);
  return world;
}

/** A configuration in which everything has another name. */
function renamed(store: string): string {
  return writeConfig({
    regions: { eu: { base_url: "http://127.0.0.1:1" } },
    keys: [{ name: "production", api_key: "none" }],
    store: { path: store },
    alerts: {
      rules: [{ name: "renamed", on: "server", status: "error" }],
      receivers: [{ name: "other", type: "webhook", url: "http://127.0.0.1:1/" }],
    },
  }).config;
}

async function firstId(world: WatchedWorld): Promise<string> {
  const { api } = world.daemon();
  const { incidents } = await api(listIncidents, { state: "firing", rule: "erring" });
  return incidents[0]?.id ?? "";
}

const range = ["--from", "2026-11-20T00:00Z", "--to", "2026-11-21T00:00Z"];
const queries: readonly (readonly string[])[] = [
  ["incidents", "--state", "firing"],
  ["changes"],
  ["explain", "SERVER"],
  ["report", ...range],
  ["insights", ...range],
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
    const both = await Promise.all([1, 2].map(() => runCommand(["incidents", "--config", config])));
    for (const { code, out } of both) {
      expect([code, out]).toEqual([0, expect.stringMatching(/ firing .* erring /)]);
      expect(out).not.toContain("rule_removed");
    }
  });

  it("reads the write-ahead log that a killed daemon left, and keeps it", async () => {
    const world = await watched();
    const store = join(tempFolder(), "killed.db");
    for (const end of ["", "-wal"]) copyFileSync(world.config.store.path + end, store + end);
    const bytes = storeBytes(store);
    expect(bytes[1]).not.toBeNull();
    const { code, out } = await runCommand(["incidents", "--config", renamed(store)]);
    expect([code, out]).toEqual([0, expect.stringContaining("erring")]);
    expect(storeBytes(store)).toEqual(bytes);
  });

  it("creates no store, and changes none of another version", async () => {
    const { config, store } = writeConfig();
    const before = readdirSync(dirname(store));
    for (const query of queries) {
      const ended = await runCommand([...query, "--config", config]);
      expect(ended).toMatchObject({ code: 1, err: expect.stringContaining("There is no store") });
    }
    expect(readdirSync(dirname(store))).toEqual(before);

    const old = join(tempFolder(), "old.db");
    await openStore(old).close();
    const database = new DatabaseSync(old);
    database.exec("pragma user_version = 3");
    database.close();
    const bytes = storeBytes(old);
    for (const command of [["incidents"], ["report", "--from", "1d"]]) {
      const { code, err } = await runCommand([...command, "--config", renamed(old)]);
      expect([code, err]).toEqual([
        1,
        expect.stringMatching(/newer version of sandwatch.*store\.path/),
      ]);
    }
    expect(storeBytes(old)).toEqual(bytes);
  });

  it("reports a damaged store", async () => {
    const { config, store } = writeConfig();
    writeFileSync(store, "not a database, but something dear to somebody");
    const { code, err } = await runCommand(["insights", "--config", config]);
    expect([code, err]).toEqual([1, expect.stringContaining("is damaged or is not")]);
  });
});

describe("a command that acts while no daemon runs", () => {
  it("writes what it says and nothing else", async () => {
    const world = await watched();
    const store = world.config.store.path;
    const incident = await firstId(world);
    await world.daemon().stop();
    const reason = ["--author", "ann", "--reason", "moved", "--for", "2h"];
    const acting: readonly (readonly [readonly string[], readonly string[]])[] = [
      [["silence", "add", "--region", "us", ...reason], ["silences"]],
      [
        ["ack", incident, "--author", "ann"],
        ["acknowledgements", "commit_sequence", "incidents"],
      ],
      [["notifications", "replay", "--seq", "1"], ["notifications"]],
      [["notifications", "replay", "--receiver", "other"], []],
    ];
    for (const [args, tables] of acting) {
      const before = dumpStore(store);
      const ended = await runCommand([...args, "--config", renamed(store)]);
      expect(ended).toMatchObject({ code: 0 });
      const after = dumpStore(store);
      const changed = Object.keys(before).filter(
        (table) => JSON.stringify(before[table]) !== JSON.stringify(after[table]),
      );
      expect([args, changed.toSorted()]).toEqual([args, tables]);
      expect(JSON.stringify(after["incidents"])).not.toContain("rule_removed");
    }
  });

  it("creates no store, and changes none that a daemon at another address uses", async () => {
    const { config, store } = writeConfig();
    const expire = ["silence", "expire", "1", "--config", config];
    const missing = await runCommand(expire);
    expect(missing).toMatchObject({ code: 1, err: expect.stringContaining("There is no store") });
    expect(existsSync(store)).toBe(false);

    const opened = openStore(store);
    onTestFinished(() => opened.close());
    const listed = await runCommand(["silence", "list", "--config", config]);
    expect(listed).toMatchObject({ code: 0, err: "" });
    const { code, err } = await runCommand(expire);
    expect([code, err]).toEqual([1, expect.stringContaining("Give its address with --url")]);
  });

  it("leaves the notification of an acknowledgement to the next daemon, which sends it once", async () => {
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
    for (let start = 0; start < 2; start += 1) {
      await world.restart();
      await world.poll();
      expect(notifications(world)).toEqual(["erring firing", "erring acknowledged"]);
    }
  });
});
