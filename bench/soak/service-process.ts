import { systemClock } from "../../src/lib/clock.ts";
import { faultsSchema } from "../../src/simulator/faults.ts";
import { createSimulator } from "../../src/simulator/simulator.ts";
import { answerParent } from "../support/helper.ts";
import { keys, regions } from "./configuration.ts";

/** The simulated service, in which statuses change often. */
const simulator = createSimulator({
  seed: 1,
  clock: systemClock,
  regions,
  keys: keys.map((name) => ({ name, apiKey: `simulated-${name}` })),
  servers: 60,
  pace: 5,
  rateLimit: { requests: 10, perMs: 1_000 },
});
const services = await simulator.listen({ host: "127.0.0.1", port: 0 });

answerParent({
  services: () => [...services],
  fail: (faults) => simulator.setFaults(faultsSchema.parse(faults)),
});
