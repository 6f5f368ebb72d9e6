import { connect, createServer } from "node:net";
import { expect, it, onTestFinished } from "vitest";
import { systemClock } from "../../src/lib/clock.ts";
import { createSimulator } from "../../src/simulator/simulator.ts";
import { postgresFolder } from "../store/support/postgres.ts";
import { writeConfig } from "../support/config-file.ts";
import { listenOnLoopback } from "../support/listen.ts";
import { startSandwatch } from "../support/sandwatch-process.ts";
import { startPeer } from "../service/peer.ts";
import { until } from "./support/until.ts";

const perStatementMs = 30;
const incidents = 240;
const receivers = 4;
/** That of the unit of systemd and of the manifests. */
const graceMs = 30_000;
const target = { region: "us", key: "research" };

/** PostgreSQL, each answer of which comes so much later. */
async function startSlowPostgres(): Promise<number> {
  const server = createServer((client) => {
    const upstream = connect(`${postgresFolder}/.s.PGSQL.5432`);
    client.pipe(upstream);
    upstream.on("data", (data) => void setTimeout(() => client.write(data), perStatementMs));
    for (const each of [client, upstream]) {
      each.on("error", () => {});
      each.on("close", () => [client, upstream].forEach((other) => other.destroy()));
    }
  });
  return listenOnLoopback(server);
}

it("stops within its grace period, and begins no delivery, while PostgreSQL takes 30 ms for each statement", async () => {
  const simulator = createSimulator({
    manners: ["silent"],
    seed: 3,
    clock: systemClock,
    regions: ["us"],
    keys: [{ name: "research", apiKey: "simulated-research" }],
    servers: incidents,
    rateLimit: null,
    pace: 0,
  });
  const services = await simulator.listen({ host: "127.0.0.1", port: 0 });
  onTestFinished(() => simulator.close());
  for (const { serverId } of simulator.truth(target, systemClock.now().utcMs)) {
    simulator.pin(target, serverId, "error");
  }
  const deliveredAtMs: number[] = [];
  const { baseUrl } = await startPeer((request, response) => {
    deliveredAtMs.push(performance.now());
    request.resume().once("end", () => response.writeHead(204).end());
  });
  const port = await startSlowPostgres();
  const { config } = writeConfig({
    regions: { us: { base_url: services.get("us") } },
    keys: [{ name: "research", api_key: "simulated-research" }],
    poll: { every: "1s" },
    store: {
      postgres: {
        url: `postgresql://test@127.0.0.1:${port}/postgres?sslmode=disable`,
        schema: `slow_stop_${process.pid}`,
      },
    },
    http: { listen: "127.0.0.1:0" },
    alerts: {
      rules: [{ name: "server-error", on: "server", status: "error" }],
      receivers: Array.from({ length: receivers }, (_, n) => ({
        name: `hook-${n}`,
        type: "webhook",
        url: baseUrl,
        group_by: ["incident"],
        group_limit: 1_000_000,
        group_wait: "0s",
      })),
    },
  });
  const daemon = startSandwatch(["run", "--config", config]);
  await until("deliveries are under way", async () => deliveredAtMs.length >= 5 * receivers);
  daemon.send("SIGTERM");
  await daemon.line("daemon.stopping");
  const stoppingMs = performance.now();
  const { code } = await daemon.ended;
  const tookMs = performance.now() - stoppingMs;
  const late = deliveredAtMs.filter((atMs) => atMs > stoppingMs);
  expect(code).toBe(0);
  expect(tookMs).toBeLessThan(graceMs);
  // Those whose request was on its way.
  expect(late.length).toBeLessThanOrEqual(4 * receivers);
  expect(Math.max(0, ...late)).toBeLessThan(stoppingMs + 5_000);
  expect(deliveredAtMs.length).toBeLessThan(incidents * receivers);
});
