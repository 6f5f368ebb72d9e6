import { checkServers } from "../support/check.ts";
import { openDaemon } from "../support/daemon.ts";
import { settledMemoryBytes } from "../support/meters.ts";
import { startPeer } from "../support/peer-client.ts";
import type { Step } from "../support/peer-messages.ts";
import { programArguments } from "../support/program.ts";
import type { Scenario } from "../support/scenario.ts";

const laterSteps: readonly Step[] = [
  { kind: "change", share: 0.01 },
  { kind: "same" },
  { kind: "change", share: 0.01 },
];
const mebibyte = 2 ** 20;

/**
 * What the daemon's process takes in memory for a listing of a million servers, 400 MB: at the peak
 * of its polls, and when it has settled after them. The daemon with one server, settled, is the floor
 * of each server's bytes. A single run: memory does not vary as time does.
 */
export const millionMemory: Scenario = {
  name: "million-memory",
  rounds: { full: 1, quick: 1 },
  nodeArguments: programArguments,
  async run({ quick }) {
    const servers = quick ? 100_000 : 1_000_000;
    await using peer = await startPeer();
    await peer.fleet("main", 1);
    await using opened = await openDaemon({ origin: peer.origin, regions: ["main"] });
    await opened.daemon.runOnce();
    const emptyBytes = await settledMemoryBytes();

    let prepared = await peer.fleet("main", servers);
    await opened.daemon.runOnce();
    for (const step of laterSteps) {
      prepared = await peer.step("main", step);
      await opened.daemon.runOnce();
    }
    const peakBytes = process.resourceUsage().maxRSS * 1_024;
    const settledBytes = await settledMemoryBytes();
    checkServers(await peer.scrape({ url: opened.url }), "main", prepared);

    const floor = {
      floor: "one server",
      floorUnit: "MiB",
      floorSamples: [emptyBytes / mebibyte],
      target: 250,
    };
    return [
      { ...floor, what: "memory, settled", unit: "MiB", samples: [settledBytes / mebibyte] },
      { ...floor, what: "memory, peak of the polls", unit: "MiB", samples: [peakBytes / mebibyte] },
      {
        what: "memory of each server",
        unit: "bytes",
        samples: [(settledBytes - emptyBytes) / servers],
        target: 100,
      },
    ];
  },
};
