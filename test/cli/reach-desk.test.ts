import { writeFileSync } from "node:fs";
import { expect, it, onTestFinished } from "vitest";
import { openStore } from "../../src/store/store.ts";
import { writeConfig } from "../support/config-file.ts";
import { runCommand } from "../support/run-command.ts";

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
