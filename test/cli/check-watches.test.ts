import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { listSilences } from "../../src/api/operations/silences.ts";
import { incidents } from "../../src/cli/incidents.ts";
import { createDaemon } from "../../src/app/daemon.ts";
import { createLogger } from "../../src/lib/logger.ts";
import { openStore } from "../../src/store/store.ts";
import { createFakeClock } from "../support/fake-clock.ts";
import { freeAddress } from "../support/free-address.ts";
import { runCommand } from "../support/run-command.ts";
import { tempFolder } from "../support/temp-folder.ts";
import { testConfig } from "../support/test-config.ts";

function settingsOf(region: string, keys: readonly string[], listen: string) {
  return {
    regions: { [region]: { base_url: "http://127.0.0.1:1" } },
    keys: keys.map((name) => ({ name, api_key: `not-a-real-key-of-${name}` })),
    store: { path: join(tempFolder(), "sandwatch.db") },
    http: { listen },
  };
}

/** A daemon of the region us that serves, and configurations of others with its address. */
async function serveUs(keys: readonly string[] = ["research"], listen = "127.0.0.1:0") {
  const daemon = await createDaemon(testConfig(settingsOf("us", keys, listen)), {
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
  const silences = async () => (await daemon.api(listSilences, {})).silences.length;
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

  it("is not followed when it comes to the address later", async () => {
    const listen = await freeAddress();
    const settings = settingsOf("asia", ["other"], listen);
    await openStore(settings.store.path).close();
    const config = join(tempFolder(), "sandwatch.yaml");
    writeFileSync(config, JSON.stringify(settings));

    const { promise: stopped, resolve: stop } = Promise.withResolvers<void>();
    const steps = [() => Promise.resolve(), () => serveUs(["research"], listen)];
    const pause = async (): Promise<void> => {
      const step = steps.shift();
      if (step) await step();
      else stop();
      // What waits for the stop hears of it first.
      await new Promise((resolve) => setImmediate(resolve));
    };
    const told: string[] = [];
    const tell = (text: string): void => void told.push(text);
    const terminal = { out: tell, err: tell, isInteractive: false };
    await expect(
      incidents({ config, follow: true }, terminal, { stopped, pause }),
    ).rejects.toMatchObject({
      exitCode: 1,
      message: expect.stringContaining(`The sandwatch at http://${listen} watches nothing`),
    });
    expect(told.at(-1)).toBe("sandwatch does not answer; waiting.\n");
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
