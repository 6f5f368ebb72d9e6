import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { openStore } from "../../src/store/store.ts";
import { runCommand } from "../support/run-command.ts";
import { tempFolder } from "../support/temp-folder.ts";

function prepare() {
  const folder = tempFolder();
  const config = join(folder, "sandwatch.yaml");
  const store = join(folder, "sandwatch.db");
  writeFileSync(
    config,
    `
      regions: { us: { base_url: "http://127.0.0.1:1" } }
      keys: [{ name: research, api_key: not-a-real-key }]
      store: { path: ${store} }
      http: { listen: "127.0.0.1:0" }
    `,
  );
  return { config, store };
}

it("a store that somebody else uses may be a daemon's at another address", async () => {
  const { config, store } = prepare();
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
    const { config, store } = prepare();
    writeFileSync(store, "not a database, but something dear to somebody");
    const { code, err } = await runCommand([...command, "--config", config]);
    expect(code).toBe(1);
    expect(err).toContain("is damaged or is no SQLite database");
    expect(err).not.toContain("--url");
  },
);
