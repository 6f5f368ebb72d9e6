import { expect, it, onTestFinished } from "vitest";
import { listIncidents } from "../../src/api/operations/incidents.ts";
import { listProbes } from "../../src/api/operations/probes.ts";
import { listServers, listTargets } from "../../src/api/operations/targets.ts";
import { createDaemon } from "../../src/app/daemon.ts";
import { systemClock } from "../../src/lib/clock.ts";
import { createLogger } from "../../src/lib/logger.ts";
import { createSimulator } from "../../src/simulator/simulator.ts";
import { testConfig } from "../support/test-config.ts";
import { freePort } from "./support/peer-process.ts";
import { folder, freshSettings } from "./support/replica-stores.ts";
import { until } from "./support/until.ts";

/** Enough for both replicas to get some, whatever their ids are. */
const keys = Array.from("abcdefghijklmnopqrst");

/** Two replicas on one store, which poll a simulated service. */
async function twoReplicas() {
  const simulator = createSimulator({
    seed: 3,
    clock: systemClock,
    regions: ["us"],
    keys: keys.map((name) => ({ name, apiKey: `simulated-${name}` })),
    servers: 2,
    rateLimit: null,
    pace: 0,
  });
  const services = await simulator.listen({ host: "127.0.0.1", port: 0 });
  onTestFinished(() => simulator.close());
  const serversOf = (key: string) => {
    const target = { region: "us", key };
    const now = systemClock.now().utcMs;
    return Array.from(simulator.truth(target, now), ({ serverId }) => ({ target, serverId }));
  };
  const show = (key: string, status: string): void => {
    for (const { target, serverId } of serversOf(key)) simulator.pin(target, serverId, status);
  };
  for (const key of keys) show(key, "idle");
  const { schema } = freshSettings();
  const open = async () => {
    const port = await freePort();
    const rule = { severity: "warning", receivers: [] };
    const config = testConfig({
      regions: { us: { base_url: services.get("us") } },
      keys: keys.map((name) => ({ name, api_key: `simulated-${name}` })),
      poll: { every: "1s", rate_limit: { requests: 100, per: "1s" } },
      store: {
        postgres: {
          url: `postgresql:///postgres?user=test&host=${encodeURIComponent(folder)}`,
          schema,
        },
      },
      cluster: { address: `http://127.0.0.1:${port}`, lease: "5s", allow_http: true },
      http: { listen: `127.0.0.1:${port}` },
      probes: [{ name: "list", operation: "sandboxes", every: "1s" }],
      alerts: {
        rules: [
          { name: "us-full", on: "pool", by: ["region"], occupied_ratio: { above: 0.5 }, ...rule },
          { name: "us-down", on: "region", failing: { polls: 2 }, ...rule },
          { name: "target-down", on: "target", failing: { polls: 8 }, ...rule },
        ],
      },
    });
    const daemon = await createDaemon(config, {
      log: createLogger({ level: "silent", format: "json" }),
    });
    let stopping: Promise<void> | undefined;
    const stop = () => (stopping ??= daemon.stop());
    onTestFinished(stop);
    const address = await daemon.start();
    return { daemon, address, stop };
  };
  return { replicas: [await open(), await open()] as const, show, simulator };
}

it("any of two replicas shows what either polls, with pools and regions over both", async () => {
  const { replicas, show, simulator } = await twoReplicas();
  const apis = replicas.map(({ daemon }) => daemon.api);
  await until("both poll some", async () =>
    replicas.every(
      ({ daemon }) => daemon.targets.length > 0 && daemon.targets.length < keys.length,
    ),
  );
  const upAt = async (api: (typeof apis)[number]) =>
    (await api(listTargets, {})).targets.filter(({ up, stale }) => up === true && !stale);
  for (const api of apis) {
    await until("all targets up", async () => (await upAt(api)).length === keys.length);
    await until("all probes run", async () => {
      const { probes } = await api(listProbes, {});
      return probes.length === keys.length && probes.every(({ state }) => state === "ok");
    });
  }

  for (const key of keys) show(key, "occupied");
  for (const api of apis) {
    await until("all servers occupied", async () => {
      const { servers } = await api(listServers, { status: "occupied" });
      return servers.length === 2 * keys.length;
    });
    const pool = { rule: "us-full", subject: "pool", region: "us", key: null };
    await until("the pool", async () => {
      const { incidents } = await api(listIncidents, { state: "firing" });
      return incidents.length > 0 && incidents;
    });
    const { incidents } = await api(listIncidents, { state: "firing" });
    expect(incidents).toMatchObject([pool]);
  }
  for (const { address } of replicas) {
    expect(await (await fetch(address)).text()).toContain(`${keys.length} of ${keys.length}`);
  }

  simulator.setFaults([{ kind: "status", status: 500 }]);
  // Those of either replica are a consequence of what one of them found out about the region.
  const { region, targets } = await until("all targets are down with their region", async () => {
    const firing = (rule: string) =>
      replicas[0].daemon.api(listIncidents, { rule, state: "firing" });
    const [{ incidents: ofRegion }, { incidents: ofTargets }] = await Promise.all([
      firing("us-down"),
      firing("target-down"),
    ]);
    return ofTargets.length === keys.length && { region: ofRegion, targets: ofTargets };
  });
  expect(targets.map(({ inhibited_by }) => inhibited_by)).toEqual(keys.map(() => region[0]?.id));
  for (const api of apis) {
    await until("all targets down", async () => (await upAt(api)).length === 0);
  }
  simulator.setFaults([]);
  await until(
    "all targets up again",
    async () => (await upAt(replicas[1].daemon.api)).length === keys.length,
  );

  await replicas[0].stop();
  await until(
    "the other one polls all",
    async () => replicas[1].daemon.targets.length === keys.length,
  );
  await until(
    "all are up",
    async () => (await upAt(replicas[1].daemon.api)).length === keys.length,
  );
});
