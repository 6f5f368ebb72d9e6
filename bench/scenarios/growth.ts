import { openDaemon } from "../support/daemon.ts";
import type { DaemonSettings } from "../support/daemon.ts";
import { startFloors } from "../support/floors.ts";
import { imageArguments } from "../support/image.ts";
import { startPeer } from "../support/peer-client.ts";
import type { Peer } from "../support/peer-client.ts";
import { samplePolls } from "../support/sampling.ts";
import type { Sampling } from "../support/sampling.ts";
import type { Measurement, Scenario } from "../support/scenario.ts";
import { percentile } from "../support/stats.ts";

/** Those of the image, and memory enough to parse the largest listing whole. */
const nodeArguments = [...imageArguments, "--max-old-space-size=8192"];
const shares = [0, 0.01, 0.05, 0.1, 0.25, 0.5, 1];

/**
 * How the cost of a poll grows: with the number of servers, for each of them, and at 100,000 servers
 * with the share of them that changed status. All of it is CPU of the daemon's process, receiving
 * included; beside it stand receiving alone and `JSON.parse` of the same bytes.
 */
export const growth: Scenario = {
  name: "growth",
  rounds: { full: 1, quick: 1 },
  nodeArguments,
  async run({ quick }) {
    const sizes = [1_000, 10_000, 100_000, ...(quick ? [] : [1_000_000])];
    const measurements: Measurement[] = [];
    for (const servers of sizes) measurements.push(...(await measureSize(servers)));
    measurements.push(...(await measureShares(quick ? 20_000 : 100_000)));
    return measurements;
  },
};

async function measureSize(servers: number): Promise<Measurement[]> {
  await using peer = await startPeer();
  await peer.fleet("main", servers);
  await using opened = await openDaemon(settingsOf(peer));
  const bench = { peer, opened, sampling: samplingOf(servers), turn: "pollOnce" } as const;
  await opened.daemon.pollOnce();
  const row = (series: string, costsMs: readonly number[], isFloor = false): Measurement => ({
    what: `${series}, ${servers.toLocaleString("en")} servers`,
    unit: "ns a server",
    samples: costsMs.map((ms) => (ms * 1e6) / servers),
    plot: { plot: "servers", series, x: servers, isFloor },
  });
  const unchanged = await samplePolls(bench.sampling, { kind: "same" }, bench);
  const changed = await samplePolls(bench.sampling, { kind: "change", share: 0.01 }, bench);
  const { parsesMs, receivesMs } = await measureFloorsOf(bench);
  const floor = {
    floor: "JSON.parse",
    floorUnit: "ns",
    floorSamples: parsesMs.map((ms) => (ms * 1e6) / servers),
  };
  return [
    row("JSON.parse", parsesMs, true),
    row("receiving alone", receivesMs, true),
    { ...row("poll, 1 % changed", changed), ...floor },
    { ...row("poll, unchanged", unchanged), ...floor },
  ];
}

async function measureShares(servers: number): Promise<Measurement[]> {
  await using peer = await startPeer();
  await peer.fleet("main", servers);
  await using opened = await openDaemon(settingsOf(peer));
  const bench = { peer, opened, sampling: samplingOf(servers), turn: "pollOnce" } as const;
  await opened.daemon.pollOnce();
  const measurements: Measurement[] = [];
  const { parsesMs, receivesMs } = await measureFloorsOf(bench);
  const floor = { floor: "JSON.parse", floorUnit: "ms", floorSamples: parsesMs };
  for (const share of shares) {
    const row = (series: string, samples: readonly number[], isFloor: boolean): Measurement => ({
      what: `${series}, ${share * 100} % of ${servers.toLocaleString("en")} changed`,
      unit: "ms",
      samples: [...samples],
      plot: { plot: "changed", series, x: share * 100, isFloor },
    });
    const costs = await samplePolls(bench.sampling, { kind: "change", share }, bench);
    measurements.push(
      row("JSON.parse", [percentile(parsesMs, 0.5)], true),
      row("receiving alone", [percentile(receivesMs, 0.5)], true),
      { ...row("poll", costs, false), ...floor },
    );
  }
  return measurements;
}

/** What is to be told waits for its group: a poll is what is measured, as in `poll-cycle`. */
function settingsOf({ origin }: Peer): DaemonSettings {
  return { origin, regions: ["main"], groupWait: "1h" };
}

/** A sample is of a single call only where each one leaves garbage enough to be collected within it. */
function samplingOf(servers: number): Sampling {
  if (servers > 100_000) return { warmUps: 1, samples: 3, calls: 1 };
  return { warmUps: servers > 10_000 ? 5 : 10, samples: 3, calls: 5 };
}

async function measureFloorsOf({ peer, sampling }: { peer: Peer; sampling: Sampling }) {
  await using floors = await startFloors(peer.origin, nodeArguments);
  await peer.step("main", { kind: "same" });
  // Until the client's code is compiled.
  await floors.measure("main", { warmUps: 4 * sampling.warmUps, samples: 0, calls: 0 });
  return await floors.measure("main", sampling);
}
