import { expect, it } from "vitest";
import { digestOf } from "../../src/cluster/configuration-digest.ts";
import { loadConfig } from "../../src/config/load-config.ts";
import { version } from "../../src/lib/version.ts";
import { startPeer } from "../service/peer.ts";
import { writeConfig } from "../support/config-file.ts";
import { freeAddress } from "../support/free-address.ts";
import { runCommand } from "../support/run-command.ts";
import { freshSettings, leaseMs, open } from "./support/replica-stores.ts";

it("replicas are listed, and doctor compares them, calls each, and compares the clock with that of the database", async () => {
  const settings = freshSettings();
  const { url, schema } = settings;
  const peer = await startPeer((_, response) => void response.writeHead(401).end());
  const { config } = writeConfig({
    store: { postgres: { url: url.reveal(), schema } },
    cluster: { address: peer.baseUrl },
  });
  const doctor = async () => (await runCommand(["doctor", "--config", config])).out;
  expect(await doctor()).not.toContain("\nreplicas\n");

  const [one, other] = [await open(settings), await open(settings)];
  expect(await doctor()).toContain(
    `\nreplicas\n  note  no replica runs with the address ${peer.baseUrl}\n        Start it, or if it runs, set cluster.address as in its configuration.\n`,
  );

  const loaded = loadConfig(config, {}, { logFormat: "json" });
  if (loaded.kind !== "ok") throw new Error("the configuration cannot be used");
  const same = { version, configuration: digestOf(loaded.config), leaseMs };
  await one.cluster.join({ ...same, address: peer.baseUrl });
  await one.cluster.claim(["receiver:oncall", "upkeep"]);
  const alone = await doctor();
  expect(alone).toContain(
    `\nreplicas\n  ok    ${peer.baseUrl} answers, with this version and this configuration\n`,
  );
  expect(alone).toContain("  ok    it agrees with that of the database within 5 s\n");

  const address = `http://${await freeAddress()}`;
  await other.cluster.join({ ...same, version: "0.0.1", configuration: "other", address });
  const both = await doctor();
  expect(both).toContain(`  FAIL  ${address} cannot be reached from here: connection refused\n`);
  expect(both).toContain(`  warn  ${address} runs version 0.0.1, and this is ${version}\n`);
  expect(both).toContain(`  warn  ${address} runs with another configuration\n`);

  const list = async (...more: readonly string[]) =>
    (await runCommand(["replicas", "--config", config, ...more])).out;
  expect(await list()).toMatch(
    new RegExp(`^${address} +live +0\\.0\\.1 +current .* 0 +0 +0$`, "m"),
  );
  expect(await list()).toMatch(new RegExp(`^${peer.baseUrl} +live .* 0 +1 +2$`, "m"));
  expect(await list("--units")).toMatch(new RegExp(`^receiver:oncall +${peer.baseUrl} +`, "m"));

  await other.cluster.join({ ...same, address: peer.baseUrl });
  expect(await doctor()).toContain(`  warn  2 replicas have the address ${peer.baseUrl}\n`);
});
