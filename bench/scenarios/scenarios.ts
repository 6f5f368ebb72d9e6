import type { Scenario } from "../support/scenario.ts";
import { alertLatency } from "./alert-latency.ts";
import { growth } from "./growth.ts";
import { history } from "./history.ts";
import { manyTargets } from "./many-targets.ts";
import { millionListing } from "./million-listing.ts";
import { millionMemory } from "./million-memory.ts";
import { pollAndTell, pollCycle } from "./poll-cycle.ts";
import { report } from "./report.ts";
import { scrape } from "./scrape.ts";
import { start } from "./start.ts";

export const scenarios: readonly Scenario[] = [
  pollCycle,
  pollAndTell,
  growth,
  millionListing,
  millionMemory,
  scrape,
  manyTargets,
  alertLatency,
  start,
  history,
  report,
];
