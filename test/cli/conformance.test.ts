import { expect, it } from "vitest";
import { startSimulator } from "../simulator/start-simulator.ts";
import { writeConfig } from "../support/config-file.ts";
import { runCommand } from "../support/run-command.ts";
import { watchWorld } from "../support/watched-world.ts";

const ids = ["--user", "user-1", "--client", "client-1"];

it("conformance finds no deviation of the simulator, by a configuration or by an address", async () => {
  const { bases } = await startSimulator();
  const keys = [{ name: "research", api_key: "research-key" }];
  const { config } = writeConfig({ regions: { us: { base_url: bases.get("us") } }, keys });
  const us = await runCommand(["conformance", "--config", config, ...ids]);
  expect(us).toMatchObject({ code: 0, err: "" });
  expect(us.out).toMatch(/^ {2}agrees +local_sandboxes\[\]\.created_at +seen \d+ times$/m);
  expect(us.out).toMatch(/\n\d+ agree, 0 deviate, \d+ not seen\n$/);
  const region = bases.get("eu") ?? "";
  const environment = { SANDWATCH_API_KEY: "research-key" };
  const eu = await runCommand(["conformance", "--base-url", region, "--json"], environment);
  expect(eu).toMatchObject({ code: 0, err: "" });
  expect(JSON.parse(eu.out)).toMatchObject({ region, key: null, outside: 0 });
});

it("conformance and drift find deviations, by the daemon and by the store", async () => {
  // With probes, of which there are none, there is no limit to wait for.
  const world = await watchWorld({ probes: [] });
  world.fail(
    { kind: "reshape", field: "local_sandboxes[].servers[].gpu", value: "T0PSECRET" },
    { kind: "reshape", field: "userId" },
  );
  await world.poll();
  const url = await world.address();
  const store = { path: world.config.store.path };
  const { config } = writeConfig({ store, http: { listen: new URL(url).host } });

  world.clock.advance(1_000);
  const checked = await runCommand(["conformance", "--config", config, ...ids]);
  const err = "deviations from the interface: 2; without a response: 0\n";
  expect(checked).toMatchObject({ code: 1, err });
  expect(checked.out).toMatch(/^ {2}DEVIATES +userId +missing once$/m);
  expect(await world.metrics()).toContain(
    'sandwatch_api_requests_total{region="us",operation="get_user",code="200"} 1',
  );
  const ofDaemon = await runCommand(["drift", "--url", url, "--json"]);
  expect(JSON.parse(ofDaemon.out).drift).toMatchObject([
    { operation: "get_user", field: "userId", problem: "missing", regions: ["us"] },
    { field: "local_sandboxes[].servers[].gpu", example: "text of 9 characters" },
  ]);
  await world.daemon().stop();
  const ofStore = await runCommand(["drift", "--config", config]);
  expect(ofStore).toMatchObject({ code: 0, err: "" });
  expect(ofStore.out).toMatch(
    /^list_sandboxes +local_sandboxes\[\]\.servers\[\]\.gpu +unknown_field +us/m,
  );
  const all = JSON.stringify([checked, ofDaemon, ofStore, world.log]);
  expect(all).not.toContain("T0PSECRET");
});
