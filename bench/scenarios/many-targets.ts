import { checkEqual } from "../support/check.ts";
import { openDaemon } from "../support/daemon.ts";
import { collectGarbage, cpuMs, measureCpu } from "../support/meters.ts";
import { startPeer } from "../support/peer-client.ts";
import { createReceiving } from "../support/receiving.ts";
import type { Receiving } from "../support/receiving.ts";
import type { Scenario } from "../support/scenario.ts";

const servers = 130;
const intervals = 4;
/** What the first listings leave to be done, such as bundling their changes, goes on beside the polls for a while. */
const settlingIntervals = 5;
/** No alert for so long: all were told. */
const lullMs = 3_000;
const inFlight = 50;
const patienceMs = 10 * 60_000;

/**
 * Ten thousand targets, 100 keys in each of 100 regions, each with a listing of 50 KB in which nothing
 * changes, on their schedule. All CPU of the daemon's process over whole intervals, schedule and
 * commits included, is shared out to the polls that ended in them, and held against the HTTP client
 * alone receiving as many of the same listings, 50 at a time.
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
    await using receiving = createReceiving(peer.origin);
    const floorsMs = await measureFloor(receiving, Math.min(targets, 3_000));

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
      await waitMs(100);
    }
    // What the first listings had to tell is no part of a poll in which nothing changes.
    do {
      if (performance.now() > untilMs) throw new Error("the first alerts were never all told");
      await waitMs(lullMs);
    } while ((await peer.alertDelaysMs()).length > 0);
    await waitMs(settlingIntervals * intervalMs);

    const costsMs: number[] = [];
    const rates: number[] = [];
    for (let interval = 0; interval < intervals; interval += 1) {
      const before = { sent: await sent(), cpuMs: cpuMs() };
      await waitMs(intervalMs);
      const polls = (await sent()) - before.sent;
      if (polls === 0) throw new Error("no target was polled within an interval");
      costsMs.push((cpuMs() - before.cpuMs) / polls);
      rates.push(polls / targets);
    }
    const families = ["sandwatch_target_up", "sandbox_servers"];
    const query = families.map((name) => `collect[]=${name}`).join("&");
    const shown = await peer.scrape({ url: `${opened.url}?${query}` });
    checkEqual("targets up", shown.targetsUp, targets);
    const counts = Object.values(shown.servers).flatMap((region) => Object.values(region));
    const listed = counts.reduce((sum, count) => sum + count, 0);
    checkEqual("servers", listed, targets * servers);

    const floorMs = floorsMs.reduce((sum, ms) => sum + ms, 0) / floorsMs.length;
    return [
      {
        what: `CPU of a poll, ${targets.toLocaleString("en")} targets of ${Math.round(bytes / 1_000)} KB`,
        unit: "x",
        floor: "HTTP client",
        floorUnit: "ms",
        floorSamples: floorsMs,
        samples: costsMs.map((ms) => ms / floorMs),
        target: 2,
      },
      { what: "polls of a target in an interval", unit: "polls", samples: rates },
    ];
  },
};

/** CPU of one request, milliseconds. The first turn is not counted. */
async function measureFloor(receiving: Receiving, requests: number): Promise<number[]> {
  const costsMs: number[] = [];
  for (let turn = 0; turn <= 3; turn += 1) {
    await collectGarbage();
    const spentMs = await measureCpu(() => receiveAll(receiving, requests));
    if (turn > 0) costsMs.push(spentMs / requests);
  }
  return costsMs;
}

async function receiveAll(receiving: Receiving, requests: number): Promise<void> {
  let left = requests;
  const lane = async (): Promise<void> => {
    while (left > 0) {
      left -= 1;
      await receiving.drop("main");
    }
  };
  await Promise.all(Array.from({ length: inFlight }, lane));
}

function waitMs(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
