import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { createDaemon } from "../../src/daemon.ts";
import { createLogger } from "../../src/platform/logger.ts";
import { createFakeClock } from "../support/fake-clock.ts";
import { runCommand } from "../support/run-command.ts";
import { tempFolder } from "../support/temp-folder.ts";
import { testConfig } from "../support/test-config.ts";

function settingsOf(region: string, keys: readonly string[], listen: string): object {
  return {
    regions: { [region]: { base_url: "http://127.0.0.1:1" } },
    keys: keys.map((name) => ({ name, api_key: `not-a-real-key-of-${name}` })),
    store: { path: join(tempFolder(), "sandwatch.db") },
    http: { listen },
  };
}

/** A daemon of the region us that serves, and configurations of others with its address. */
async function serveUs(keys: readonly string[] = ["research"]) {
  const daemon = await createDaemon(testConfig(settingsOf("us", keys, "127.0.0.1:0")), {
    clock: createFakeClock(),
    log: createLogger({ level: "silent", format: "json" }),
  });
  onTestFinished(() => daemon.stop());
  const url = await daemon.serve();
  const configure = (region: string, ...names: readonly string[]): string => {
    const file = join(tempFolder(), "sandwatch.yaml");
    writeFileSync(file, JSON.stringify(settingsOf(region, names, new URL(url).host)));
    return file;
  };
  const silences = async () => (await daemon.desk.silences({})).silences.length;
  return { url, configure, silences };
}

const silenceAdd = ["silence", "add", "--rule", "server-error", "--author", "ann"];
const silence = [...silenceAdd, "--reason", "being moved", "--for", "2h"];

describe("a sandwatch that watches nothing of what the configuration names", () => {
  it.each([
    [silence],
    [["incidents", "--follow"]],
    [["report", "--from", "2d"]],
    [["insights"]],
    [["conformance"]],
    [["lookup", "user", "u1"]],
    [["lookup", "user", "u1", "--show-secrets"]],
  ])("is neither asked nor told anything: %s", async (command) => {
    const { url, configure, silences } = await serveUs();
    for (const config of [configure("asia", "other"), configure("us", "evals")]) {
      const ended = await runCommand([...command, "--config", config]);
      expect(ended).toMatchObject({ code: 1, out: "" });
      expect(ended.err).toContain(
        `The sandwatch at ${url} watches nothing that the configuration names`,
      );
      expect(ended.err).toContain(`give --url ${url}. Otherwise`);
      expect(ended.err).toContain("http.listen");
    }
    expect(await silences()).toBe(0);
  });

  it("is asked where its address was given", async () => {
    const { url, silences } = await serveUs();
    expect(await runCommand([...silence, "--url", url])).toMatchObject({ code: 0 });
    expect(await silences()).toBe(1);
  });
});

it("a sandwatch that watches some of what the configuration names is asked", async () => {
  const { configure, silences } = await serveUs(["evals", "research", "training"]);
  const config = configure("us", "other", "training");
  expect(await runCommand([...silence, "--config", config])).toMatchObject({ code: 0 });
  expect(await silences()).toBe(1);
});
