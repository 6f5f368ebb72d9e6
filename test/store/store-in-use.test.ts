import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, readdirSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, it, onTestFinished } from "vitest";
import { openDatabase } from "../../src/store/sqlite/database.ts";
import { inMemory, isStoreInUse } from "../../src/store/sqlite/file-lock.ts";
import { StoreError } from "../../src/store/store-error.ts";
import { tempFolder } from "../support/temp-folder.ts";

it("whether a store is in use is told while it is, by any of its names, and nothing is made", async () => {
  const folder = tempFolder();
  const path = join(folder, "store.db");
  const link = join(folder, "link.db");
  symlinkSync(path, link);
  expect(isStoreInUse(path)).toBe(false);
  expect(readdirSync(folder)).toEqual(["link.db"]);
  const database = openDatabase(path);
  expect([isStoreInUse(path), isStoreInUse(link)]).toEqual([true, true]);
  // Having looked leaves it held.
  expect(() => openDatabase(path)).toThrow(StoreError);
  await database.close();
  expect([isStoreInUse(path), isStoreInUse(link)]).toEqual([false, false]);
  await openDatabase(path).close();
});

it("who looks keeps nobody from a store that is free", async () => {
  const path = join(tempFolder(), "store.db");
  await openDatabase(path).close();
  const program = fileURLToPath(new URL("support/look-at-store.ts", import.meta.url));
  const looking = spawn(process.execPath, [program, path], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  onTestFinished(() => void looking.kill("SIGKILL"));
  await once(looking.stdout, "data");
  for (let turn = 0; turn < 50; turn++) {
    await expect(openDatabase(path).close()).resolves.toBeUndefined();
  }
});

it("a store in memory, or in a folder that there is not, is not in use", () => {
  expect(isStoreInUse(inMemory)).toBe(false);
  const path = join(tempFolder(), "none", "store.db");
  expect(isStoreInUse(path)).toBe(false);
  expect(() => readdirSync(dirname(path))).toThrow("ENOENT");
});

it("where that cannot be told, it is said", () => {
  const path = join(tempFolder(), "store.db");
  mkdirSync(`${path}.lock`);
  expect(() => isStoreInUse(path)).toThrow(StoreError);
  const other = join(tempFolder(), "store.db");
  writeFileSync(`${other}.lock`, "no database, but something dear to somebody");
  expect(() => isStoreInUse(other)).toThrow(StoreError);
});
