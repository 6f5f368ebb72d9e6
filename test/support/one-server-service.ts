import { cleanUp } from "./share.ts";
import type { Status } from "../../src/fleet/model.ts";
import { systemClock } from "../../src/lib/clock.ts";
import { createSimulator } from "../../src/simulator/simulator.ts";

/** A service with one region "us" and one server for the key "research", whose status only `show` changes. */
export async function startOneServerService(status: Exclude<Status, "unknown">) {
  const keys = [{ name: "research", apiKey: "simulated-T0PSECRET" }];
  const world = { seed: 3, clock: systemClock, regions: ["us"], keys, servers: 1, pace: 0 };
  const simulator = createSimulator({ ...world, rateLimit: null, manners: ["silent"] });
  const services = await simulator.listen({ host: "127.0.0.1", port: 0 });
  cleanUp(() => simulator.close());
  const target = { region: "us", key: "research" };
  const [server] = simulator.truth(target, systemClock.now().utcMs);
  const show = (shown: typeof status): void => simulator.pin(target, server?.serverId ?? "", shown);
  show(status);
  return { baseUrl: services.get("us"), show };
}
