import { setTimeout } from "node:timers/promises";
import { buildProgram, startDaemon } from "../support/daemon.ts";
import { startFloors } from "../support/floors.ts";
import type { Scenario } from "../support/row.ts";
import { checkEqual, total } from "../support/scrape.ts";
import { startService } from "../support/service.ts";
import { tempFolder } from "../support/temp-folder.ts";

const servers = 130;
const listing = "main";
const longestMs = 10 * 60_000;

/**
 * Ten thousand targets, 100 keys in each of 100 regions, each with a listing of 50 KB in which nothing changes, on
 * their schedule. All CPU of the daemon's process over whole intervals, schedule and commits included, is shared out
 * to the polls in them, and held against the HTTP client alone: a request of the same listing, 50 at a time.
 */
export const manyTargets: Scenario = {
  name: "many-targets",
  async run({ quick }) {
    const regions = Array.from({ length: quick ? 10 : 100 }, (_, index) => `region-${index}`);
    const targets = regions.length * 100;
    const intervalMs = quick ? 5_000 : 30_000;
    using folder = tempFolder();
    const program = await buildProgram(folder.path);
    await using service = await startService();
    await using floors = startFloors(service);
    service.list(listing, servers);
    const receiveMs = (): Promise<number> => floors.receiveMs(listing, 3_000, 50);
    // Until its code is compiled.
    for (let turn = 0; turn < 2; turn += 1) await receiveMs();

    await using daemon = await startDaemon(program, folder.path, {
      origin: service.origin,
      regions,
      listing,
      keys: 100,
      every: `${intervalMs}ms`,
      perServer: false,
      groupWait: "0s",
    });
    const untilMs = performance.now() + longestMs;
    while (service.sent(listing) < targets) await daemon.whileRunning(pause(100, untilMs));
    // Storing the first listings is no part of a poll in which nothing changes.
    let sent: number;
    do {
      sent = service.sent(listing);
      await daemon.whileRunning(pause(intervalMs, untilMs));
    } while (service.sent(listing) - sent < 0.99 * targets);

    const floorsMs: number[] = [];
    const ratios: number[] = [];
    const rates: number[] = [];
    for (let interval = 0; interval < 4; interval += 1) {
      const sentBefore = service.sent(listing);
      const { cpuMs: beforeMs } = await daemon.read();
      await setTimeout(intervalMs);
      const polls = service.sent(listing) - sentBefore;
      const costMs = ((await daemon.read()).cpuMs - beforeMs) / polls;
      const floorMs = await receiveMs();
      floorsMs.push(floorMs);
      ratios.push(costMs / floorMs);
      rates.push(polls / targets);
    }
    checkEqual("targets up", await total(daemon.metricsUrl, "sandwatch_target_up"), targets);
    const shown = await total(daemon.metricsUrl, "sandbox_servers");
    checkEqual("servers shown", shown, targets * servers);
    return [
      {
        what: `CPU of a poll, ${targets.toLocaleString("en")} targets of ${servers} servers`,
        unit: "x",
        floor: { what: "HTTP client alone", unit: "ms", samples: floorsMs },
        samples: ratios,
        budget: 2,
      },
      { what: "polls of a target in an interval", unit: "", samples: rates },
    ];
  },
};

async function pause(ms: number, untilMs: number): Promise<void> {
  if (performance.now() > untilMs) throw new Error("the first polls took too long");
  await setTimeout(ms);
}
