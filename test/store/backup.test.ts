import { execFileSync } from "node:child_process";
import { chmodSync, copyFileSync, existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { lstatSync, rmSync, writeFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { describe, expect, it, onTestFinished } from "vitest";
import { openStore } from "../../src/store/store.ts";
import { writeConfig } from "../support/config-file.ts";
import { runCommand } from "../support/run-command.ts";
import { startSandwatch } from "../support/sandwatch-process.ts";
import { dumpStore, storeBytes } from "../support/store-dump.ts";
import { tempFolder } from "../support/temp-folder.ts";
import { watchWorld } from "../support/watched-world.ts";
import { damage, execute, runOn, storeWith } from "./support/store-files.ts";

function regionsIn(path: string): readonly unknown[] {
  return (dumpStore(path)["targets"] ?? []).map((row) => Object(row).region);
}

function namesBeside(path: string): readonly string[] {
  return readdirSync(dirname(path)).toSorted();
}

const rowsOf = (dump: Readonly<Record<string, readonly object[]>>, table: string) =>
  (dump[table] ?? []).map((row): Record<string, unknown> => ({ ...row }));

it("a backup made while the daemon polls and delivers has every notification of its moment, which are sent under their ids once it is restored", async () => {
  const erring = { name: "erring", on: "server", status: "error" };
  const world = await watchWorld({
    servers: 8,
    alerts: { rules: [erring] },
    receiver: { group_by: ["incident"] },
  });
  const { path } = world.config.store;
  const file = join(tempFolder(), "backup.db");
  let polls = 0;
  /** Each poll has a server that fails and one that recovers. */
  const pollChanging = async (): Promise<void> => {
    world.show(polls % 8, "error");
    world.show((polls + 4) % 8, "idle");
    polls += 1;
    await world.poll();
  };
  for (let poll = 0; poll < 12; poll += 1) await pollChanging();
  world.peer.answer(503);
  for (let poll = 0; poll < 4; poll += 1) await pollChanging();
  const before = dumpStore(path);

  const backup = startSandwatch([
    "backup",
    file,
    "--config",
    writeConfig({ store: { path } }).config,
  ]);
  const running = { isOver: false };
  void backup.ended.then(() => (running.isOver = true));
  const begun = polls;
  while (!running.isOver) await pollChanging();
  expect(await backup.ended).toMatchObject({ code: 0, err: "" });
  expect(polls).toBeGreaterThan(begun + 5);

  const [copy, after] = [dumpStore(file), dumpStore(path)];
  for (const table of ["outbox_items", "notifications"]) {
    const ids = (dump: typeof copy) =>
      rowsOf(dump, table).map(({ seq, id, incident_id: incident }) => [seq, id, incident]);
    const stored = ids(copy);
    expect(stored.length).toBeGreaterThanOrEqual(ids(before).length);
    expect(stored).toEqual(ids(after).slice(0, stored.length));
  }
  const pending = rowsOf(copy, "notifications").filter(({ state }) => state === "pending");
  const ids = pending.map(({ id }) => id);
  expect(ids.length).toBeGreaterThan(3);
  expect(await runCommand(["store", "check", file])).toMatchObject({ code: 0, err: "" });

  await world.daemon().stop();
  expect(await runOn(path, "restore", file)).toMatchObject({ code: 0, err: "" });
  expect(dumpStore(path)).toEqual(copy);
  expect(await runOn(path, "store", "check")).toMatchObject({ code: 0, err: "" });
  const tried = new Set(world.peer.attemptedIds);
  expect(ids.filter((id) => tried.has(String(id))).length).toBeGreaterThan(0);
  world.peer.answer(204);
  const delivered = world.alerts.length;
  await world.restart();
  world.clock.advance(600_000);
  await world.poll(3);
  const received = world.alerts.slice(delivered).map(({ webhookId }) => webhookId);
  expect(received).toEqual(expect.arrayContaining(ids));
  expect(new Set(received).size).toBe(received.length);
});

describe("backup", () => {
  it("makes one private file, also of what only the log has, and leaves nothing else", async () => {
    const path = await storeWith("us");
    const store = openStore(path);
    onTestFinished(() => store.close());
    await store.targets.addAll([{ region: "eu", key: "research" }]);
    const file = join(tempFolder(), "backup.db");
    const umask = process.umask(0);
    onTestFinished(() => void process.umask(umask));
    expect(await runOn(path, "backup", file)).toMatchObject({ code: 0, err: "" });
    expect(regionsIn(file)).toEqual(["us", "eu"]);
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(namesBeside(file)).toEqual(["backup.db"]);
  });

  it("replaces a file only if it is to, and never a file of the store", async () => {
    const path = await storeWith("us");
    const file = join(tempFolder(), "backup.db");
    writeFileSync(file, "something dear");
    expect(await runOn(path, "backup", file)).toMatchObject({
      code: 1,
      err: expect.stringContaining("exists. Give another name, or replace it with --force."),
    });
    expect(readFileSync(file, "utf8")).toBe("something dear");
    expect(await runOn(path, "backup", file, "--force")).toMatchObject({ code: 0 });
    expect(regionsIn(file)).toEqual(["us"]);
    for (const end of ["", "-wal", "-shm", ".lock"]) {
      expect(await runOn(path, "backup", path + end, "--force")).toMatchObject({
        code: 1,
        err: expect.stringContaining("belongs to the store itself"),
      });
    }
    const folder = tempFolder();
    expect((await runOn(path, "backup", folder, "--force")).err).toContain("is a directory");
    const pipe = join(folder, "pipe");
    execFileSync("mkfifo", [pipe]);
    expect((await runOn(path, "backup", pipe, "--force")).err).toContain("is not a regular file");
    expect(lstatSync(pipe).isFIFO()).toBe(true);
    expect(regionsIn(path)).toEqual(["us"]);
  });

  it("does not contain what was deleted", async () => {
    const path = await storeWith("us");
    const secret = "deleted-long-ago";
    const database = new DatabaseSync(path);
    database.exec(
      `insert into counted_values (value) values ('${secret}'); delete from counted_values`,
    );
    database.close();
    expect(readFileSync(path).includes(secret)).toBe(true);
    const file = join(tempFolder(), "backup.db");
    await runOn(path, "backup", file);
    expect(readFileSync(file).includes(secret)).toBe(false);
  });

  it("is not made of a damaged store, of none, or where no file can be", async () => {
    const path = await storeWith("us");
    const folder = tempFolder();
    const file = join(folder, "backup.db");
    expect((await runOn(join(folder, "none.db"), "backup", file)).err).toContain(
      "There is no store",
    );
    expect((await runOn(path, "backup", join(folder, "nowhere", "b.db"))).err).toMatch(
      /could not be written: ENOENT.*Nothing was changed/,
    );
    const bytes = readFileSync(path);
    writeFileSync(path, bytes.fill(0xa5, 8_192, 16_384));
    expect(await runOn(path, "backup", file)).toMatchObject({ code: 1 });
    expect(readdirSync(folder)).toEqual([]);
  });
});

/** As a process leaves it that is killed: its last change is only in the log. */
async function killedStore(): Promise<string> {
  const running = await storeWith("eu");
  const killed = join(tempFolder(), "store.db");
  using database = new DatabaseSync(running);
  database.exec("update targets set region = 'ap'");
  for (const end of ["", "-wal", "-shm"]) copyFileSync(running + end, killed + end);
  return killed;
}

describe("restore", () => {
  it("replaces the store and keeps the previous one, with what was only in its log", async () => {
    const file = join(tempFolder(), "backup.db");
    await runOn(await storeWith("us"), "backup", file);
    const bytes = storeBytes(file);
    const left = await storeWith("eu");
    // As a daemon leaves it that is killed.
    const killed = join(tempFolder(), "store.db");
    const store = openStore(left);
    await store.targets.addAll([{ region: "ap", key: "research" }]);
    for (const end of ["", "-wal"]) copyFileSync(left + end, killed + end);
    await store.close();
    const { code, out, err } = await runOn(killed, "restore", file);
    expect([code, err]).toEqual([0, ""]);
    const kept = /kept: (\S+)/.exec(out)?.[1] ?? "";
    expect(namesBeside(killed)).toEqual(["store.db", "store.db.lock", basename(kept)]);
    expect(regionsIn(killed)).toEqual(["us"]);
    expect(regionsIn(kept)).toEqual(["eu", "ap"]);
    expect([statSync(killed).mode & 0o777, statSync(kept).mode & 0o077]).toEqual([0o600, 0]);
    expect(storeBytes(file)).toEqual(bytes);
    expect(namesBeside(file)).toEqual(["backup.db"]);
  });

  it("keeps the log of a damaged store beside it", async () => {
    const file = join(tempFolder(), "backup.db");
    await runOn(await storeWith("us"), "backup", file);
    const killed = await killedStore();
    writeFileSync(killed, readFileSync(killed).fill(0xa5, 0, 100));
    const log = readFileSync(`${killed}-wal`);
    const { code, out, err } = await runOn(killed, "restore", file);
    expect([code, err]).toEqual([0, ""]);
    const kept = /kept: ([^\s,]+)/.exec(out)?.[1] ?? "";
    expect(readFileSync(`${kept}-wal`)).toEqual(log);
    const names = ["store.db", "store.db.lock", basename(kept), `${basename(kept)}-wal`];
    expect(namesBeside(killed)).toEqual(names);
    expect(dumpStore(killed)).toEqual(dumpStore(file));
  });

  it("does not let SQLite apply a log that was left without its store", async () => {
    const file = join(tempFolder(), "backup.db");
    await runOn(await storeWith("us"), "backup", file);
    const killed = await killedStore();
    rmSync(killed);
    expect(await runOn(killed, "restore", file)).toMatchObject({ code: 0, err: "" });
    expect(await runOn(killed, "store", "check")).toMatchObject({ code: 0, err: "" });
    expect(dumpStore(killed)).toEqual(dumpStore(file));
  });

  it("works where there is no store, or a damaged one, and from a file that may not be written", async () => {
    const file = join(tempFolder(), "backup.db");
    await runOn(await storeWith("us"), "backup", file);
    chmodSync(file, 0o400);
    const none = join(tempFolder(), "deep", "down", "store.db");
    expect(await runOn(none, "restore", file)).toMatchObject({
      code: 0,
      out: expect.not.stringContaining("kept"),
    });
    expect(regionsIn(none)).toEqual(["us"]);
    const damaged = join(tempFolder(), "store.db");
    writeFileSync(damaged, "no database");
    const { out } = await runOn(damaged, "restore", file);
    expect(readFileSync(/kept: (\S+)/.exec(out)?.[1] ?? "", "utf8")).toBe("no database");
    expect(regionsIn(damaged)).toEqual(["us"]);
  });

  it("is refused while a daemon has the store, which stays as it is", async () => {
    const file = join(tempFolder(), "backup.db");
    const path = await storeWith("eu");
    await runOn(await storeWith("us"), "backup", file);
    const store = openStore(path);
    onTestFinished(() => store.close());
    expect(await runOn(path, "restore", file)).toMatchObject({
      code: 1,
      err: expect.stringContaining("is in use by another sandwatch process. Stop that process"),
    });
    expect(regionsIn(path)).toEqual(["eu"]);
  });

  it.each<readonly [what: string, spoil: (file: string) => void, message: RegExp]>([
    ["is damaged", (file) => damage(file), /is damaged or is not an SQLite database/],
    ["is text", (file) => writeFileSync(file, "text"), /is damaged or is not an SQLite database/],
    ["is empty", (file) => writeFileSync(file, ""), /is empty/],
    [
      "is of a newer version",
      (file) => execute(file, "pragma user_version = 99"),
      /newer version of sandwatch/,
    ],
    [
      "has a trigger",
      (file) =>
        execute(
          file,
          "create trigger t after insert on incidents begin delete from outbox_items; end",
        ),
      /it has the trigger t that is not its own/,
    ],
    ["lacks a table", (file) => execute(file, "drop table silences"), /silences is missing/],
  ])("is refused when the backup %s, and changes nothing", async (_, spoil, message) => {
    const file = join(tempFolder(), "backup.db");
    await runOn(await storeWith("us"), "backup", file);
    spoil(file);
    const path = await storeWith("eu");
    const { code, err } = await runOn(path, "restore", file);
    expect([code, err]).toEqual([1, expect.stringMatching(message)]);
    expect(namesBeside(path)).toEqual(["store.db", "store.db.lock"]);
    expect(regionsIn(path)).toEqual(["eu"]);
  });

  it("is refused when the backup is not there or is the store itself", async () => {
    const path = await storeWith("eu");
    expect((await runOn(path, "restore", path)).err).toContain("is the store itself");
    const none = join(tempFolder(), "none.db");
    expect((await runOn(path, "restore", none)).err).toBe(`There is no file ${none}.\n`);
    expect(existsSync(path)).toBe(true);
  });
});
