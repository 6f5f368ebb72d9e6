import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { buildProgram } from "../support/built-program.ts";
import { checkServers } from "../support/check.ts";
import { daemonSettings } from "../support/daemon.ts";
import { freePort } from "../support/free-port.ts";
import { startPeer } from "../support/peer-client.ts";
import type { Peer } from "../support/peer-client.ts";
import type { Prepared, Step } from "../support/peer-messages.ts";
import type { Scenario } from "../support/scenario.ts";
import { tempFolder } from "../support/temp-folder.ts";

const changing: Step = { kind: "change", share: 0.01 };
const laterSteps: readonly Step[] = [changing, { kind: "same" }, changing];
/** Longer than until upkeep had a turn, which is a minute after the start. */
const laterMs = { full: 70_000, quick: 1_000 };
const mebibyte = 2 ** 20;

/**
 * What the daemon takes in memory, as it is published and as the image runs it, for a listing of a
 * million servers, 400 MB: at the peak of its polls, when it has settled after them, and once more when
 * it went on for a minute. The daemon with one server, settled, is the floor of each server's bytes. It
 * polls by its schedule; that there are just these polls, the peer sees to.
 */
export const millionMemory: Scenario = {
  name: "million-memory",
  rounds: { full: 3, quick: 1 },
  async run({ quick }) {
    const servers = quick ? 100_000 : 1_000_000;
    using folder = tempFolder();
    await using peer = await startPeer();
    const port = await freePort();
    const file = join(folder.path, "sandwatch.yaml");
    const watched = { origin: peer.origin, regions: ["main"], every: "1s" };
    const settings = daemonSettings(watched, folder.path, `127.0.0.1:${port}`);
    writeFileSync(file, JSON.stringify(settings));
    const program = await buildProgram(folder.path);

    await peer.sendOnce("main");
    await using daemon = program.startDaemon({ file, isWeighed: true });
    const pollOf = (prepare: () => Promise<Prepared>): Promise<Prepared> =>
      daemon.whileRunning(pollOnce(peer, prepare));
    await pollOf(() => peer.fleet("main", 1));
    const empty = await daemon.memory();
    let prepared = await pollOf(() => peer.fleet("main", servers));
    for (const step of laterSteps) {
      prepared = await pollOf(() => peer.step("main", step));
    }
    const full = await daemon.memory();
    const endMs = Date.now() + (quick ? laterMs.quick : laterMs.full);
    while (Date.now() < endMs) prepared = await pollOf(() => peer.step("main", changing));
    const later = await daemon.memory();
    const shown = await peer.scrape({ url: `http://127.0.0.1:${port}/metrics` });
    checkServers(shown, "main", prepared);

    const floor = {
      floor: "one server",
      floorUnit: "MiB",
      floorSamples: [empty.settledBytes / mebibyte],
      target: 250,
    };
    return [
      {
        ...floor,
        what: "memory, settled",
        unit: "MiB",
        samples: [full.settledBytes / mebibyte],
      },
      {
        ...floor,
        what: "memory, peak of the polls",
        unit: "MiB",
        samples: [full.peakBytes / mebibyte],
      },
      {
        ...floor,
        what: "memory, settled after a minute more",
        unit: "MiB",
        samples: [later.settledBytes / mebibyte],
      },
      {
        what: "memory of each server",
        unit: "bytes",
        samples: [(full.settledBytes - empty.settledBytes) / servers],
        target: 100,
      },
    ];
  },
};

/** Lets the daemon poll a listing, once, and waits until it asks for the next one. */
async function pollOnce(peer: Peer, prepare: () => Promise<Prepared>): Promise<Prepared> {
  await peer.untilAskedAgain("main");
  const prepared = await prepare();
  await peer.untilAskedAgain("main");
  return prepared;
}
