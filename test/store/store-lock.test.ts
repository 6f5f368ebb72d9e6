import { spawn } from "node:child_process";
import type { ChildProcessByStdio } from "node:child_process";
import { once } from "node:events";
import { symlinkSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import type { Readable, Writable } from "node:stream";
import { fileURLToPath } from "node:url";
import { describe, expect, it, onTestFinished } from "vitest";
import { tempFolder } from "../support/temp-folder.ts";
import { addTarget, newStorePath, openStore, refusal, regions } from "./support/store-files.ts";

describe("one process at a time", () => {
  const inUse =
    /store\.db is in use by another sandwatch process\. Stop that process, or set another/;

  it("a second opening is refused while the first one holds it, and not after", async () => {
    const path = newStorePath();
    const first = openStore(path);
    expect(refusal(path)).toMatch(inUse);
    await addTarget(first, "us");
    await first.close();
    expect(await regions(openStore(path))).toEqual(["us"]);
  });

  it("an opening by another name of the same file is refused", async () => {
    const path = newStorePath();
    const first = openStore(path);
    const folder = tempFolder();
    symlinkSync(path, join(folder, "link.db"));
    symlinkSync(join(path, ".."), join(folder, "there"));
    expect(refusal(join(folder, "link.db"))).toMatch(inUse);
    expect(refusal(join(folder, "there", "store.db"))).toMatch(inUse);
    await first.close();
  });

  it("an opening by another name is refused also where there was no file before", async () => {
    const folder = tempFolder();
    const link = join(tempFolder(), "there");
    symlinkSync(folder, link);
    const first = openStore(join(link, "store.db"));
    expect(refusal(join(folder, "store.db"))).toMatch(inUse);
    await first.close();
  });

  it("an opening by a link to where there was no file before is refused", async () => {
    const folder = tempFolder();
    const link = join(tempFolder(), "link.db");
    symlinkSync(join(folder, "store.db"), link);
    const first = openStore(link);
    expect(refusal(link)).toMatch(inUse);
    expect(refusal(join(folder, "store.db"))).toMatch(inUse);
    await first.close();
  });

  it("a link to itself is an error", () => {
    const link = join(tempFolder(), "link.db");
    symlinkSync(link, link);
    expect(refusal(link)).toMatch(/link\.db.*ELOOP|ELOOP.*link\.db/);
  });

  it("an opening from another process is refused; a killed holder holds no more", async () => {
    const path = newStorePath();
    const holder = await hold(path);
    expect(refusal(path)).toMatch(inUse);
    holder.kill("SIGKILL");
    await once(holder, "exit");
    expect(await regions(openStore(path))).toEqual([]);
  });

  it("a holder that closes holds no more", async () => {
    const path = newStorePath();
    const holder = await hold(path);
    holder.stdin.end();
    await once(holder, "exit");
    expect(await regions(openStore(path))).toEqual([]);
  });

  it("others may read while it is held", async () => {
    const path = newStorePath();
    await addTarget(openStore(path), "us");
    using reader = new DatabaseSync(path, { readOnly: true });
    expect(reader.prepare("select region from targets").all()).toEqual([{ region: "us" }]);
  });
});

type Holder = ChildProcessByStdio<Writable, Readable, null>;

async function hold(path: string): Promise<Holder> {
  const program = fileURLToPath(new URL("support/hold-store.ts", import.meta.url));
  const holder = spawn(process.execPath, [program, path], { stdio: ["pipe", "pipe", "inherit"] });
  onTestFinished(() => void holder.kill("SIGKILL"));
  const [line] = await once(holder.stdout, "data");
  expect(String(line)).toBe("held\n");
  return holder;
}
