import { setTimeout } from "node:timers/promises";
import { checkServers } from "../support/check.ts";
import { openDaemon } from "../support/daemon.ts";
import { createLoopWatch } from "../support/loop-watch.ts";
import type { WatchedDelay } from "../support/loop-watch.ts";
import { startPeer } from "../support/peer-client.ts";
import type { Prepared, Step } from "../support/peer-messages.ts";
import { imageArguments } from "../support/image.ts";
import type { Measurement, Scenario } from "../support/scenario.ts";
import type { Scrape } from "../support/scrape.ts";
import { scrapeOnAndOn } from "../support/scraping.ts";

const smallServers = 1_000;
const every = { ms: 2_000, text: "2s" };
const smallPolls = 3;
const laterSteps: readonly Step[] = [
  { kind: "change", share: 0.01 },
  { kind: "same" },
  { kind: "change", share: 0.01 },
];

/**
 * One listing of a million servers, 400 MB, which comes to a daemon that runs and from then on is polled without
 * a pause while a small target is polled every two seconds and the aggregates are scraped four times a second.
 * How late the event loop gets, beside an idle process over the same time: while the daemon starts, for the
 * first poll and what it tells, and for later ones. Series for each server are off: they are what `scrape`
 * measures.
 */
export const millionListing: Scenario = {
  name: "million-listing",
  rounds: { full: 1, quick: 1 },
  nodeArguments: imageArguments,
  async run({ quick }) {
    const servers = quick ? 100_000 : 1_000_000;
    await using peer = await startPeer();
    await peer.fleet("small", smallServers);
    await using watch = await createLoopWatch();
    await watch.start();
    await using opened = await openDaemon({
      origin: peer.origin,
      regions: ["main", "small"],
      every: every.text,
      perServer: false,
      scheduled: true,
    });
    await using scraping = scrapeOnAndOn(peer, opened.url);
    await scraping.until((shown) => (shown.polls["small"] ?? 0) >= smallPolls);
    const starting = await watch.stop();

    await peer.alertDelaysMs();
    let prepared = await peer.fleet("main", servers);
    await watch.start();
    await scraping.until((shown) => isShown(shown, prepared));
    // What it had to tell belongs to it.
    while ((await peer.alertDelaysMs()).length === 0) await setTimeout(50);
    const first = await watch.stop();

    await watch.start();
    for (const step of laterSteps) {
      prepared = await peer.step("main", step);
      // The poll under way may have begun before the step: the second one after it has not.
      const polls = scraping.last()?.polls["main"] ?? 0;
      await scraping.until((shown) => (shown.polls["main"] ?? 0) >= polls + 2);
    }
    await scraping.until((shown) => isShown(shown, prepared));
    const later = await watch.stop();
    const last = scraping.last();
    if (!last) throw new Error("nothing was scraped");
    checkServers(last, "main", prepared);
    return [
      longestRow("start", starting),
      ...delayRows("first poll", first),
      ...delayRows("later polls", later),
      { what: "polls of the small target", unit: "polls", samples: [last.polls["small"] ?? 0] },
      {
        what: "longest time between them",
        unit: "ms",
        floor: "schedule",
        floorUnit: "ms",
        floorSamples: [every.ms],
        samples: [await peer.longestGapMs("small")],
      },
      { what: "scrapes meanwhile", unit: "scrapes", samples: [scraping.count()] },
      { what: "slowest of them", unit: "ms", samples: [scraping.slowestMs()] },
    ];
  },
};

function isShown(shown: Scrape, { counts }: Prepared): boolean {
  const found = shown.servers["main"] ?? {};
  return Object.entries(counts).every(([status, count]) => found[status] === count);
}

const floor = { floor: "idle process", floorUnit: "ms", unit: "ms" };

function delayRows(when: string, delay: WatchedDelay): Measurement[] {
  const { own, control } = delay;
  return [
    {
      ...floor,
      what: `event-loop delay above idle, p99.9, ${when}`,
      floorSamples: [control.p999Ms],
      samples: [own.p999Ms - control.p999Ms],
      target: 10,
    },
    longestRow(when, delay),
  ];
}

function longestRow(when: string, { own, control }: WatchedDelay): Measurement {
  return {
    ...floor,
    what: `event-loop delay, longest, ${when}`,
    floorSamples: [control.maxMs],
    samples: [own.maxMs],
  };
}
