import { expect, it } from "vitest";
import { listSilences } from "../../src/api/operations/silences.ts";
import { writeConfig } from "../support/config-file.ts";
import { runCommand } from "../support/run-command.ts";
import { serveUs } from "./serve-us.ts";

/** A configuration of other targets than the daemon's, with its address. */
function configOf(region: string, keys: readonly string[], listen: string): string {
  return writeConfig({
    regions: { [region]: { base_url: "http://127.0.0.1:1" } },
    keys: keys.map((name) => ({ name, api_key: name })),
    http: { listen },
  }).config;
}

const silenceAdd = ["silence", "add", "--rule", "server-error", "--author", "ann"];
const silence = [...silenceAdd, "--reason", "being moved", "--for", "2h"];

it.each([
  [silence],
  [["incidents", "--follow"]],
  [["report", "--from", "2d"]],
  [["insights"]],
  [["conformance"]],
  [["lookup", "user", "u1"]],
])("a daemon that watches none of the configured targets is not called: %s", async (command) => {
  const { daemon, url, listen } = await serveUs(["research"]);
  for (const config of [
    configOf("asia", ["research"], listen),
    configOf("us", ["evals"], listen),
  ]) {
    const ended = await runCommand([...command, "--config", config]);
    expect(ended).toMatchObject({ code: 1, out: "" });
    expect(ended.err).toContain(`The daemon at ${url} monitors none of the configured targets`);
    expect(ended.err).toContain(`give --url ${url}. To use another`);
  }
  expect((await daemon.api(listSilences, {})).silences).toEqual([]);
});

it("a daemon is called that is named by its address, or that watches a configured target", async () => {
  const { daemon, url, listen } = await serveUs(["evals", "research", "training"]);
  const config = configOf("us", ["other", "training"], listen);
  expect(await runCommand([...silence, "--url", url])).toMatchObject({ code: 0 });
  const again = await runCommand([...silence, "--config", config]);
  expect(again).toMatchObject({ code: 0, out: expect.stringContaining("is prolonged") });
  expect((await daemon.api(listSilences, {})).silences).toHaveLength(1);
});
