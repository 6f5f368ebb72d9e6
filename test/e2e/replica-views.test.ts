import { expect, it } from "vitest";
import { listIncidents } from "../../src/api/operations/incidents.ts";
import { listProbes } from "../../src/api/operations/probes.ts";
import { listServers, listTargets } from "../../src/api/operations/targets.ts";
import { keys, serversPerKey, twoReplicas } from "./support/two-replicas.ts";
import { until } from "./support/until.ts";

const toNobody = { severity: "warning", receivers: [] };
const settings = {
  probes: [{ name: "list", operation: "sandboxes", every: "1s" }],
  alerts: {
    rules: [
      { name: "us-full", on: "pool", by: ["region"], occupied_ratio: { above: 0.5 }, ...toNobody },
      { name: "us-down", on: "region", failing: { polls: 2 }, ...toNobody },
      { name: "target-down", on: "target", failing: { polls: 8 }, ...toNobody },
    ],
  },
};

it("any of two replicas shows what either polls, with pools and regions over both", async () => {
  const { replicas, show, simulator } = await twoReplicas(settings);
  const apis = replicas.map(({ daemon }) => daemon.api);
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
      return servers.length === serversPerKey * keys.length;
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
    const metrics = await (await fetch(`${address}/metrics`)).text();
    expect(metrics).toContain(`\nsandwatch_configured_targets ${keys.length}\n`);
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
