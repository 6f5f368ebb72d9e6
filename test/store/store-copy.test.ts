import { onTestFinished, expect, it } from "vitest";
import { openStore } from "../../src/store/store.ts";
import { writeConfig } from "../support/config-file.ts";
import { tempFolder } from "../support/temp-folder.ts";
import { runCommand } from "../support/run-command.ts";
import { runOn, storeWith } from "./support/store-files.ts";

const unreachable = "postgresql://watcher:T0PSECRET@127.0.0.1:1/history";
const configOf = (store: object): string => writeConfig({ store }, tempFolder()).config;
const toPostgres = (): string => configOf({ postgres: { url: unreachable } });

it("store copy needs a configuration with PostgreSQL, which it names when it cannot be reached", async () => {
  const path = await storeWith("us");
  expect(await runOn(path, "store", "copy")).toMatchObject({ code: 2 });
  expect(await runOn(path, "store", "copy", "--to", configOf({ path }))).toMatchObject({
    code: 2,
    err: expect.stringContaining("has no store.postgres"),
  });
  const { code, err } = await runOn(path, "store", "copy", "--to", toPostgres());
  expect([code, err]).toEqual([1, expect.stringContaining("127.0.0.1:1 cannot be reached")]);
  expect(err).not.toContain("T0PSECRET");
});

it("store copy does not copy from PostgreSQL", async () => {
  const ended = await runCommand(["store", "copy", "--config", toPostgres(), "--to", toPostgres()]);
  expect(ended).toMatchObject({ code: 1, err: expect.stringContaining("pg_dump and pg_restore") });
});

it("store copy is refused while a daemon runs on the store, and where there is none", async () => {
  const path = await storeWith("us");
  const store = openStore(path);
  onTestFinished(() => store.close());
  expect(await runOn(path, "store", "copy", "--to", toPostgres())).toMatchObject({
    code: 1,
    err: expect.stringContaining("in use by another sandwatch process"),
  });
  expect(await runOn(`${path}.none`, "store", "copy", "--to", toPostgres())).toMatchObject({
    code: 1,
    err: expect.stringContaining("There is no store"),
  });
});
