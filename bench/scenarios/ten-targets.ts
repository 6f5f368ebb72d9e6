import { buildProgram, startDaemon } from "../support/daemon.ts";
import {
  changeOnePercent,
  measureDelayAndMemory,
  measureStarts,
  pollOnce,
  untilShown,
} from "../support/fleet-polls.ts";
import type { Watched } from "../support/fleet-polls.ts";
import { startFloors } from "../support/floors.ts";
import type { Measurement } from "../support/row.ts";
import type { Scenario } from "../support/row.ts";
import { checkTotals } from "../support/scrape.ts";
import { startService } from "../support/service.ts";
import { tempFolder } from "../support/temp-folder.ts";

const targets = 10;

/** A million servers in ten targets, whose listings come at the same time. */
export const tenTargets: Scenario = {
  name: "ten-targets",
  async run({ quick }) {
    const servers = quick ? 5_000 : 100_000;
    const all = targets * servers;
    const of = `${all.toLocaleString("en")} servers in ten`;
    using folder = tempFolder();
    const program = await buildProgram(folder.path);
    await using service = await startService();
    await using floors = startFloors(service);
    const regions = Array.from({ length: targets }, (_, index) => `region-${index}`);
    const fleets = new Map(regions.map((region) => [region, service.list(region, servers)]));
    for (const region of regions) service.sendOnce(region);
    const settings = { origin: service.origin, regions };
    const rows: Measurement[] = [];
    {
      await using daemon = await startDaemon(program, folder.path, settings);
      await untilShown(daemon.metricsUrl, all);
      const watched: Watched = { service, daemon, floors, fleets };
      for (let poll = 0; poll < 3; poll += 1) await pollOnce(watched, changeOnePercent);
      const limits = { polls: quick ? 3 : 8, delayMs: 150, mebibytes: 1_024 };
      rows.push(...(await measureDelayAndMemory(watched, of, limits)));
      for (const [region, fleet] of fleets) await checkTotals(daemon.metricsUrl, region, fleet);
    }
    const starting = { servers: all, starts: quick ? 1 : 3, of, budget: 15 };
    rows.push(await measureStarts(program, folder.path, settings, starting));
    return rows;
  },
};
