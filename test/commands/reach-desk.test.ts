import { writeFileSync } from "node:fs";
import { expect, it, onTestFinished } from "vitest";
import { openStore } from "../../src/store/store.ts";
import { writeConfig } from "../support/config-file.ts";
import { runCommand } from "../support/run-command.ts";

it("a store that somebody else uses may be a daemon's at another address", async () => {
  const { config, store } = writeConfig();
  const opened = openStore(store);
  onTestFinished(() => opened.close());
  const { code, err } = await runCommand(["silence", "list", "--config", config]);
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
