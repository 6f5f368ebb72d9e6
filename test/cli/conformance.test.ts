import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { z } from "zod";
import type { Fault } from "../../src/simulator/faults.ts";
import { writeConfig } from "../support/config-file.ts";
import { runCommand } from "../support/run-command.ts";
import { startSandwatch } from "../support/sandwatch-process.ts";
import { tempFolder } from "../support/temp-folder.ts";

/** The simulated service as a process, and configurations for it. */
async function startService(faults: readonly Fault[] = []) {
  const folder = tempFolder();
  const file = join(folder, "faults.json");
  writeFileSync(file, JSON.stringify(faults));
  const args = ["simulate", "--port", "0", "--servers", "30", "--faults", file];
  const [, origin = ""] = /"(http:.+)\/us"/.exec(await startSandwatch(args).line("us:")) ?? [];
  const configOf = (listen: string): string => {
    const regions = { us: { base_url: `${origin}/us` }, eu: { base_url: `${origin}/eu` } };
    const keys = [{ name: "research", api_key: "simulated-research" }];
    return writeConfig({ regions, keys, poll: { every: "1h" }, http: { listen } }, folder).config;
  };
  return { origin, configOf };
}

const ids = ["--user", "user-1", "--client", "client-1"];
const environment = { SANDWATCH_API_KEY: "simulated-research" };

it("conformance finds no deviation of the simulator", async () => {
  const { configOf, origin } = await startService();
  const args = ["conformance", "--config", configOf("127.0.0.1:0"), "--region", "us", ...ids];
  const us = await runCommand(args);
  expect(us).toMatchObject({ code: 0, err: "" });
  expect(us.out).toMatch(/^ {2}agrees +local_sandboxes\[\]\.created_at +seen \d+ times$/m);
  expect(us.out).toMatch(/\n\d+ agree, 0 deviate, \d+ not seen\n$/);
  const region = `${origin}/eu`;
  const eu = await runCommand(["conformance", "--base-url", region, "--json"], environment);
  expect(eu).toMatchObject({ code: 0, err: "" });
  expect(JSON.parse(eu.out)).toMatchObject({ region, key: null, outside: 0 });
});

it("conformance and drift find deviations, by the daemon and by the store", async () => {
  const { configOf } = await startService([
    { kind: "reshape", field: "local_sandboxes[].servers[].gpu", value: "T0PSECRET" },
    { kind: "reshape", field: "userId" },
  ]);
  const daemon = startSandwatch(["run", "--config", configOf("127.0.0.1:0")]);
  const logged = await daemon.line("drift.seen");
  const line: unknown = JSON.parse(await daemon.line("daemon.started"));
  const { address } = z.object({ address: z.string() }).parse(line);
  const byConfig = ["--config", configOf(new URL(address).host)];

  const checked = await runCommand(["conformance", ...byConfig, "--region", "eu", ...ids]);
  expect(checked).toMatchObject({
    code: 1,
    err: "deviations from the interface: 2; without a response: 0\n",
  });
  expect(checked.out).toMatch(/^ {2}DEVIATES +userId +missing once$/m);
  const metrics = await (await fetch(`${address}/metrics`)).text();
  expect(metrics).toContain(
    'sandwatch_api_requests_total{region="eu",operation="get_user",code="200"} 1',
  );

  const ofDaemon = await runCommand(["drift", "--url", address, "--json"]);
  expect(JSON.parse(ofDaemon.out).drift).toMatchObject([
    { operation: "get_user", field: "userId", problem: "missing", regions: ["eu"] },
    {
      field: "local_sandboxes[].servers[].gpu",
      example: "text of 9 characters",
      regions: ["eu", "us"],
    },
  ]);
  daemon.send("SIGTERM");
  await daemon.ended;
  const ofStore = await runCommand(["drift", ...byConfig]);
  expect(ofStore).toMatchObject({ code: 0, err: "" });
  expect(ofStore.out).toMatch(
    /^list_sandboxes +local_sandboxes\[\]\.servers\[\]\.gpu +unknown_field +eu us/m,
  );
  expect(JSON.stringify([logged, checked, ofDaemon, ofStore])).not.toContain("T0PSECRET");
});

it.each([
  [
    ["--config", "CONFIG"],
    "Choose one by region and key (--region, --key): us/research, eu/research.",
  ],
  [["--config", "CONFIG", "--region", "us", "--user", ".."], "Allowed: user: an id of"],
  [["--base-url", "https://127.0.0.1:1"], "SANDWATCH_API_KEY"],
  [["--base-url", "http://example.com/"], "with http the key would be sent unencrypted"],
  [["--base-url", "ftp://example.com/"], "--base-url must be an address"],
  [["--base-url", "https://127.0.0.1:1", "--region", "us"], "cannot be used with"],
])("conformance refuses %j with exit code 2", async (args, message) => {
  const base_url = "http://127.0.0.1:1";
  const { config } = writeConfig({ regions: { us: { base_url }, eu: { base_url } } });
  const given = args.map((arg) => arg.replace("CONFIG", config));
  const ended = await runCommand(["conformance", ...given], { SANDWATCH_API_KEY: "" });
  expect(ended).toMatchObject({ code: 2, out: "", err: expect.stringContaining(message) });
});
