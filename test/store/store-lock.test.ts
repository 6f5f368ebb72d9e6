import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { describe, expect, it, onTestFinished } from "vitest";
import { isStoreInUse } from "../../src/store/sqlite/file-lock.ts";
import { StoreError } from "../../src/store/store-error.ts";
import { openStore, openStoreReadOnly } from "../../src/store/store.ts";
import { tempFolder } from "../support/temp-folder.ts";
import { open, newPath, target, regionsIn, soundStore, refusal } from "./support/opened-stores.ts";

it.each(["-wal", "-shm", "-journal", ".lock"])(
  "a link named like the store with %s is neither followed nor replaced, and refused",
  async (end) => {
    const path = await soundStore();
    const [elsewhere, victim] = [join(tempFolder(), "elsewhere"), join(tempFolder(), "victim")];
    writeFileSync(victim, "");
    for (const to of [elsewhere, victim]) {
      rmSync(path + end, { force: true });
      symlinkSync(to, path + end);
      for (const openIt of [openStore, openStoreReadOnly, isStoreInUse]) {
        expect(refusal(path, openIt)).toContain(`${path + end} is a link`);
      }
    }
    expect(existsSync(elsewhere)).toBe(false);
    expect(readFileSync(victim, "utf8")).toBe("");
  },
);

describe("one process at a time", () => {
  const inUse = /store\.db is in use by another sandwatch process\. Stop that process/;

  it("holds a store, whatever name it is opened by", async () => {
    const path = newPath();
    const [link, folder] = [join(tempFolder(), "link.db"), join(tempFolder(), "there")];
    symlinkSync(path, link);
    symlinkSync(join(path, ".."), folder);
    expect(isStoreInUse(link)).toBe(false);
    expect(existsSync(path)).toBe(false);
    const names = [path, link, join(folder, "store.db")];
    for (const name of names) {
      const store = open(name);
      for (const other of names) {
        expect(isStoreInUse(other)).toBe(true);
        expect(refusal(other)).toMatch(inUse);
      }
      await store.close();
      expect(names.map(isStoreInUse)).toEqual([false, false, false]);
    }
    const itself = join(tempFolder(), "link.db");
    symlinkSync(itself, itself);
    expect(refusal(itself)).toMatch(/link\.db.*ELOOP|ELOOP.*link\.db/);
  });

  it("holds it until it closes it or is killed; others may read", async () => {
    const path = await soundStore();
    const program = join(import.meta.dirname, "support/hold-store.ts");
    for (const end of ["close", "kill"] as const) {
      const holder = spawn(process.execPath, [program, path], {
        stdio: ["pipe", "pipe", "inherit"],
      });
      onTestFinished(() => void holder.kill("SIGKILL"));
      expect(String((await once(holder.stdout, "data"))[0])).toBe("held\n");
      expect(refusal(path)).toMatch(inUse);
      const reader = openStoreReadOnly(path);
      expect(await regionsIn(reader)).toEqual(["us"]);
      await reader.close();
      if (end === "close") holder.stdin.end();
      else holder.kill("SIGKILL");
      await once(holder, "exit");
      await openStore(path).close();
    }
  });

  it.each(["store", "lock"])("is waited for by one that may wait: %s", async (what) => {
    const path = await soundStore();
    const program = join(import.meta.dirname, "support/hold-briefly.ts");
    const file = what === "lock" ? `${path}.lock` : path;
    const holder = spawn(process.execPath, [program, file, "700"], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    onTestFinished(() => void holder.kill("SIGKILL"));
    await once(holder.stdout, "data");
    const store = openStore(path, undefined, { waitMs: 20_000 });
    await store.targets.addAll([target("eu")]);
    expect(await regionsIn(store)).toEqual(["us", "eu"]);
    await store.close();
  });

  it("is refused while another program has the file, which is to be stopped", async () => {
    const path = await soundStore();
    using other = new DatabaseSync(path);
    other.exec("begin exclusive");
    expect(refusal(path)).toMatch(
      /store\.db cannot be opened: another program has it locked\. Stop/,
    );
    other.exec("rollback");
    await openStore(path).close();
  });

  it("is not found where that cannot be found out", () => {
    const path = newPath();
    mkdirSync(`${path}.lock`);
    expect(() => isStoreInUse(path)).toThrow(StoreError);
  });
});
