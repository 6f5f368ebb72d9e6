import { z } from "zod";
import { createFleet } from "./fleet.ts";
import type { Fleet } from "./fleet.ts";
import { startPeerServer } from "./peer-server.ts";
import { fleetOrderSchema, stepOrderSchema } from "./peer-messages.ts";
import type { Prepared, Step } from "./peer-messages.ts";
import { answerParent } from "./rpc.ts";
import { scrape, scrapeRequestSchema } from "./scrape.ts";

/** The peer's process: the service, a webhook receiver, and whoever scrapes. */
const server = await startPeerServer();
const fleets = new Map<string, Fleet>();

function prepare(name: string, fleet: Fleet): Prepared {
  const blocks = fleet.render();
  server.serve(name, blocks);
  const bytes = blocks.reduce((sum, block) => sum + block.length, 0);
  return { bytes, servers: fleet.servers, counts: fleet.counts() };
}

function take(fleet: Fleet, step: Step): void {
  switch (step.kind) {
    case "same":
      return;
    case "change":
      return fleet.change(step.share);
    case "touch":
      return fleet.touch();
    case "shuffle":
      return fleet.shuffle();
    case "break one":
      return fleet.breakOne();
    default:
      step satisfies never;
  }
}

answerParent({
  port: () => server.port,
  fleet(params) {
    const { name, seed, servers } = fleetOrderSchema.parse(params);
    const fleet = createFleet({ seed, servers });
    fleets.set(name, fleet);
    return prepare(name, fleet);
  },
  step(params) {
    const { name, step } = stepOrderSchema.parse(params);
    const fleet = fleets.get(name);
    if (!fleet) throw new Error(`there is no fleet ${name}`);
    take(fleet, step);
    return prepare(name, fleet);
  },
  sendOnce: (name) => server.sendOnce(z.string().parse(name)),
  untilAskedAgain: (name) => server.untilAskedAgain(z.string().parse(name)),
  scrape: (params) => scrape(scrapeRequestSchema.parse(params)),
  sent: () => server.sent(),
  longestGapMs: (name) => server.longestGapMs(z.string().parse(name)),
  alertDelaysMs: () => server.takeAlertDelaysMs(),
});
