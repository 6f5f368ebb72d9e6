import { copyFileSync, readdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { describe, expect, it } from "vitest";
import { addSilence } from "../../src/api/operations/silences.ts";
import { openStore } from "../../src/store/store.ts";
import { writeConfig } from "../support/config-file.ts";
import { freeAddress } from "../support/free-address.ts";
import { freshStoreFile } from "../support/fresh-store.ts";
import { runCommand } from "../support/run-command.ts";
import { dumpStore, storeBytes } from "../support/store-dump.ts";
import { tempFolder } from "../support/temp-folder.ts";
import { watchWorld } from "../support/watched-world.ts";

const erring = { name: "erring", on: "server", status: "error" };

/** A world with an open incident of each kind, a dead letter and a silence. */
async function watched() {
  const rules = [
    erring,
    { name: "probe-failing", on: "probe", failing: { polls: 1 } },
    { name: "pool-full", on: "pool", by: ["region", "key"], occupied_ratio: { above: 0.1 } },
  ];
  const world = await watchWorld({
    servers: 4,
    alerts: { rules },
    probes: [{ name: "login", operation: "user", id: "user-1", every: "5s" }],
    receiver: { give_up_after: "1m" },
  });
  await world.poll();
  const silence = {
    match: { rule: "nothing" },
    author: "ann",
    reason: "old",
    duration: "1m",
    force: true,
  };
  await world.daemon().api(addSilence, silence);
  world.show(0, "error");
  world.show(1, "occupied");
  world.fail({ kind: "status", status: 404, operation: "get_user" });
  world.peer.answer(400);
  await world.poll(2);
  return { world, store: world.config.store.path };
}

/** Runs a command with a configuration of the store in which everything has another name. */
function run(store: string, ...args: readonly string[]) {
  const url = "http://127.0.0.1:1/";
  const { config } = writeConfig({
    regions: { eu: { base_url: url } },
    keys: [{ name: "production", api_key: "none" }],
    store: { path: store },
    alerts: {
      rules: [{ ...erring, name: "renamed" }],
      receivers: [{ name: "other", type: "webhook", url }],
    },
  });
  return runCommand([...args, "--config", config]);
}

const range = "--from 2026-11-20T00:00Z --to 2026-11-21T00:00Z";
const queries = [
  "incidents --state firing",
  "changes",
  "explain SERVER",
  `report ${range}`,
  `insights ${range}`,
  "probes",
  "drift",
  "notifications list",
  "notifications show 1",
  "silence list --ended",
].map((query) => query.split(" "));

describe("a query while no daemon runs", () => {
  it("changes nothing in the store, whatever its configuration names", async () => {
    const { world, store } = await watched();
    await world.daemon().stop();
    const before = dumpStore(store);
    const bytes = storeBytes(store);
    expect(before["incidents"]).toHaveLength(4);
    for (const query of queries) {
      const args = query.map((each) => (each === "SERVER" ? (world.serverIds[0] ?? "") : each));
      const { code } = await run(store, ...args);
      expect([args, code]).toEqual([args, 0]);
      expect(storeBytes(store)).toEqual(bytes);
    }
    expect(dumpStore(store)).toEqual(before);
    for (const { out } of await Promise.all([1, 2].map(() => run(store, "incidents")))) {
      expect(out).toMatch(/ firing .* erring /);
      expect(out).not.toContain("rule_removed");
    }
  });

  it("reads the write-ahead log that a killed daemon left, and keeps it", async () => {
    const { store } = await watched();
    const killed = join(tempFolder(), "killed.db");
    for (const end of ["", "-wal"]) copyFileSync(store + end, killed + end);
    const bytes = storeBytes(killed);
    expect(bytes[1]).not.toBeNull();
    expect((await run(killed, "incidents")).out).toContain("erring");
    expect(storeBytes(killed)).toEqual(bytes);
  });

  it("creates no store, changes none of another version, and reports a damaged one", async () => {
    const none = join(tempFolder(), "none.db");
    for (const query of queries) {
      const ended = await run(none, ...query);
      expect(ended).toMatchObject({ code: 1, err: expect.stringContaining("There is no store") });
    }
    expect(readdirSync(dirname(none))).toEqual([]);

    const old = freshStoreFile();
    const database = new DatabaseSync(old);
    database.exec("pragma user_version = 3");
    database.close();
    const bytes = storeBytes(old);
    for (const command of [["incidents"], ["report", "--from", "1d"]]) {
      const { code, err } = await run(old, ...command);
      expect(code).toBe(1);
      expect(err).toMatch(/newer version of sandwatch.*store\.path/);
    }
    expect(storeBytes(old)).toEqual(bytes);

    writeFileSync(old, "not a database, but something dear to somebody");
    const { code, err } = await run(old, "insights");
    expect([code, err]).toEqual([1, expect.stringContaining("is damaged or is not")]);
  });
});

describe("a command that acts while no daemon runs", () => {
  it.each([
    "ack --all --author ann",
    "unack --all --author ann",
    "silence add --all --author ann --reason moved --for 2h",
    "silence change 1 --author ann --for 2h",
    "silence expire 1",
    "notifications replay --seq 1",
    "notifications discard --seq 1",
    "send-report weekly",
    "poll --now",
  ])("says that it needs one, and writes nothing: %s", async (command) => {
    const store = freshStoreFile();
    await openStore(store).close();
    const bytes = storeBytes(store);
    const listen = await freeAddress();
    const { config } = writeConfig({ store: { path: store }, http: { listen } });
    const args = [...command.split(" "), "--config", config];
    const { code, out, err } = await runCommand(args);
    expect([code, out]).toEqual([1, ""]);
    expect(err).toMatch(
      /^Nothing listens at http:\S+. This command needs a running daemon: start it with sandwatch run, or give .* --url\.\n$/,
    );
    expect(storeBytes(store)).toEqual(bytes);
  });

  it("needs the address where the configuration leaves the port open", async () => {
    const { config } = writeConfig({ http: { listen: "127.0.0.1:0" } });
    const { code, err } = await runCommand(["ack", "--all", "--author", "ann", "--config", config]);
    expect([code, err]).toEqual([2, expect.stringContaining("give the address with --url")]);
  });
});
