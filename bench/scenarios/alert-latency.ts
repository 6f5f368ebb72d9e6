import { checkEqual, checkServers } from "../support/check.ts";
import { openDaemon } from "../support/daemon.ts";
import { collectGarbage } from "../support/meters.ts";
import { startPeer } from "../support/peer-client.ts";
import { imageArguments } from "../support/image.ts";
import type { Scenario } from "../support/scenario.ts";
import { percentile } from "../support/stats.ts";

const warmUps = 3;

/**
 * How long an alert takes: from the last byte of a listing of 100,000 servers, one of which has
 * newly erred, to the first byte of the message at the receiver, which groups without waiting. The
 * service and the receiver are one process and have one clock. A poll's work before the last byte
 * came does not count.
 */
export const alertLatency: Scenario = {
  name: "alert-latency",
  rounds: { full: 1, quick: 1 },
  nodeArguments: imageArguments,
  async run({ quick }) {
    const servers = quick ? 20_000 : 100_000;
    const polls = quick ? 10 : 120;
    await using peer = await startPeer();
    await peer.fleet("main", servers);
    await using opened = await openDaemon({ origin: peer.origin, regions: ["main"] });
    await opened.daemon.runOnce();
    await peer.alertDelaysMs();

    const delaysMs: number[] = [];
    for (let turn = 0; turn < warmUps + polls; turn += 1) {
      const prepared = await peer.step("main", { kind: "break one" });
      await collectGarbage();
      await opened.daemon.runOnce();
      const told = await peer.alertDelaysMs();
      checkEqual("messages after a poll in which one server erred", told.length, 1);
      if (turn >= warmUps) delaysMs.push(...told);
      if (turn === 0) checkServers(await peer.scrape({ url: opened.url }), "main", prepared);
    }
    return [
      {
        what: `last byte to receiver, p99 of ${polls}`,
        unit: "ms",
        samples: [percentile(delaysMs, 0.99)],
        target: 50,
      },
      { what: "last byte to receiver", unit: "ms", samples: delaysMs },
    ];
  },
};
