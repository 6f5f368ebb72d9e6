import { join } from "node:path";
import { onTestFinished } from "vitest";
import { createDaemon, type Daemon } from "../../../src/app/daemon.ts";
import { systemClock } from "../../../src/lib/clock.ts";
import { createLogger } from "../../../src/lib/logger.ts";
import type { Fault } from "../../../src/simulator/faults.ts";
import { createSimulator } from "../../../src/simulator/simulator.ts";
import { tempFolder } from "../../support/temp-folder.ts";
import { testConfig } from "../../support/test-config.ts";

export interface RealWorld {
  readonly serverIds: readonly string[];
  /** From now on the server shows this status; `absent` is not listed. */
  show(server: number, status: string): void;
  /** Replaces all faults of the service. */
  fail(...faults: Fault[]): void;
  /** Starts the daemon, on the store it had before. Gives its address. */
  start(): Promise<string>;
  stop(): Promise<void>;
}

/** The daemon and a simulated service in real time, for peers that know no other. */
export async function openRealWorld(options: {
  readonly servers: number;
  readonly alerts: object;
  readonly probes?: readonly object[];
}): Promise<RealWorld> {
  const target = { region: "us", key: "research" };
  const simulator = createSimulator({
    manners: ["silent"],
    seed: 3,
    clock: systemClock,
    regions: ["us"],
    keys: [{ name: "research", apiKey: "simulated-research" }],
    servers: options.servers,
    pace: 0,
  });
  const services = await simulator.listen({ host: "127.0.0.1", port: 0 });
  onTestFinished(() => simulator.close());
  const nowMs = systemClock.now().utcMs;
  const serverIds = Array.from(simulator.truth(target, nowMs), ({ serverId }) => serverId);
  const show = (server: number, status: string): void =>
    simulator.pin(target, serverIds[server] ?? "", status);
  for (const index of serverIds.keys()) show(index, "idle");

  const config = testConfig({
    regions: { us: { base_url: services.get("us") } },
    keys: [{ name: "research", api_key: "simulated-research" }],
    poll: { every: "1s" },
    store: { path: join(tempFolder(), "sandwatch.db") },
    http: { listen: "127.0.0.1:0" },
    alerts: options.alerts,
    probes: options.probes ?? [],
  });
  const log = createLogger({ level: "silent", format: "json" });
  let daemon: Daemon | undefined;
  const stop = async (): Promise<void> => {
    await daemon?.stop();
    daemon = undefined;
  };
  onTestFinished(stop);
  return {
    serverIds,
    show,
    fail: (...faults) => simulator.setFaults(faults),
    async start() {
      daemon = await createDaemon(config, { log });
      return daemon.start();
    },
    stop,
  };
}
