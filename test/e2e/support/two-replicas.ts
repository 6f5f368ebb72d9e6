import { onTestFinished } from "vitest";
import { createDaemon } from "../../../src/app/daemon.ts";
import { systemClock } from "../../../src/lib/clock.ts";
import { createLogger } from "../../../src/lib/logger.ts";
import { createSimulator } from "../../../src/simulator/simulator.ts";
import { testConfig } from "../../support/test-config.ts";
import { freePort } from "./peer-process.ts";
import { freshSettings } from "./replica-stores.ts";
import { shiftedClock } from "./shifted-clock.ts";
import { until } from "./until.ts";

/** Enough for both replicas to get some, whatever their ids are. */
export const keys = Array.from("abcdefghijklmnopqrst");
export const serversPerKey = 2;

/**
 * Two replicas in this process, which poll a simulated service, each some of its keys.
 *
 * @param settings replace those of their configuration, each as a whole
 * @param offMs how far the time of day of each is off
 */
export async function twoReplicas(settings: object, offMs: readonly [number, number] = [0, 0]) {
  const simulator = createSimulator({
    manners: ["silent"],
    seed: 3,
    clock: systemClock,
    regions: ["us"],
    keys: keys.map((name) => ({ name, apiKey: `simulated-${name}` })),
    servers: serversPerKey,
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
  const { url, schema } = freshSettings();
  const open = async (replicaOffMs: number) => {
    const port = await freePort();
    const config = testConfig({
      regions: { us: { base_url: services.get("us") } },
      keys: keys.map((name) => ({ name, api_key: `simulated-${name}` })),
      poll: { every: "1s", rate_limit: { requests: 100, per: "1s" } },
      store: { postgres: { url: url.reveal(), schema } },
      cluster: { address: `http://127.0.0.1:${port}`, lease: "5s", allow_http: true },
      http: { listen: `127.0.0.1:${port}` },
      ...settings,
    });
    const daemon = await createDaemon(config, {
      clock: shiftedClock(replicaOffMs),
      log: createLogger({ level: "silent", format: "json" }),
    });
    let stopping: Promise<void> | undefined;
    const stop = () => (stopping ??= daemon.stop());
    onTestFinished(stop);
    const address = await daemon.start();
    return { daemon, address, stop };
  };
  const replicas = [await open(offMs[0]), await open(offMs[1])] as const;
  await until("both poll some", async () => {
    const [one, other] = replicas.map(({ daemon }) => daemon.targets.length);
    return !!one && !!other && one + other === keys.length;
  });
  return { replicas, show, simulator, schema };
}
