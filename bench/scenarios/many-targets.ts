import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { z } from "zod";
import { checkEqual } from "../support/check.ts";
import { openDaemon } from "../support/daemon.ts";
import { cpuMs } from "../support/meters.ts";
import { startPeer } from "../support/peer-client.ts";
import { startHelper } from "../support/rpc.ts";
import type { Scenario } from "../support/scenario.ts";

const servers = 130;
const intervals = 4;
/** What the first listings leave to be done, such as bundling their changes, goes on beside the polls for a while. */
const settlingIntervals = 5;
/** No alert for so long: all were told. */
const lullMs = 3_000;
/** Of the client alone, each time that it is measured. */
const requests = 3_000;
const patienceMs = 10 * 60_000;

/**
 * Ten thousand targets, 100 keys in each of 100 regions, each with a listing of 50 KB in which nothing
 * changes, on their schedule. All CPU of the daemon's process over whole intervals, schedule and
 * commits included, is shared out to the polls that ended in them, and held against what the HTTP client
 * alone took right after each, in another process: a request of the same listing, 50 at a time.
 */
export const manyTargets: Scenario = {
  name: "many-targets",
  rounds: { full: 1, quick: 1 },
  async run({ quick }) {
    const regions = Array.from({ length: quick ? 10 : 100 }, (_, index) => `region-${index}`);
    const targets = regions.length * 100;
    const intervalMs = quick ? 5_000 : 30_000;
    await using peer = await startPeer();
    const { bytes } = await peer.fleet("main", servers);
    await using client = await startHelper(
      join(import.meta.dirname, "../support/client-process.ts"),
      ["--expose-gc"],
    );
    const measureFloor = (): Promise<number> =>
      client.ask("receive", { origin: peer.origin, name: "main", requests }, z.number());
    // Until its code is compiled.
    for (let turn = 0; turn < 2; turn += 1) await measureFloor();

    const sent = async (): Promise<number> => (await peer.sent())["main"] ?? 0;
    const sentBefore = await sent();
    await using opened = await openDaemon({
      origin: peer.origin,
      regions,
      listing: "main",
      keys: 100,
      every: `${intervalMs}ms`,
      perServer: false,
      scheduled: true,
    });
    const untilMs = performance.now() + patienceMs;
    while ((await sent()) < sentBefore + targets) {
      if (performance.now() > untilMs) throw new Error("the first polls never ended");
      await setTimeout(100);
    }
    // What the first listings had to tell is no part of a poll in which nothing changes.
    do {
      if (performance.now() > untilMs) throw new Error("the first alerts were never all told");
      await setTimeout(lullMs);
    } while ((await peer.alertDelaysMs()).length > 0);
    await setTimeout(settlingIntervals * intervalMs);

    const floorsMs: number[] = [];
    const ratios: number[] = [];
    const rates: number[] = [];
    for (let interval = 0; interval < intervals; interval += 1) {
      const before = { sent: await sent(), cpuMs: cpuMs() };
      await setTimeout(intervalMs);
      const polls = (await sent()) - before.sent;
      if (polls === 0) throw new Error("no target was polled within an interval");
      const costMs = (cpuMs() - before.cpuMs) / polls;
      const floorMs = await measureFloor();
      floorsMs.push(floorMs);
      ratios.push(costMs / floorMs);
      rates.push(polls / targets);
    }
    const families = ["sandwatch_target_up", "sandbox_servers"];
    const query = families.map((name) => `collect[]=${name}`).join("&");
    const shown = await peer.scrape({ url: `${opened.url}?${query}` });
    checkEqual("targets up", shown.targetsUp, targets);
    const counts = Object.values(shown.servers).flatMap((region) => Object.values(region));
    const listed = counts.reduce((sum, count) => sum + count, 0);
    checkEqual("servers", listed, targets * servers);

    return [
      {
        what: `CPU of a poll, ${targets.toLocaleString("en")} targets of ${Math.round(bytes / 1_000)} KB`,
        unit: "x",
        floor: "HTTP client",
        floorUnit: "ms",
        floorSamples: floorsMs,
        samples: ratios,
        target: 2,
      },
      { what: "polls of a target in an interval", unit: "polls", samples: rates },
    ];
  },
};
