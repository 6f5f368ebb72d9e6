import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { buildProgram, startDaemon } from "../support/daemon.ts";
import { writeChanges } from "../support/changes.ts";
import { untilShown } from "../support/fleet-polls.ts";
import type { Scenario } from "../support/row.ts";
import { startService } from "../support/service.ts";
import { tempFolder } from "../support/temp-folder.ts";

const dayMs = 24 * 60 * 60_000;
const region = "main";
const atOnce = 10;

/** Reports of single servers, each of which reads all their changes, while the daemon polls. */
export const reports: Scenario = {
  name: "reports",
  async run({ quick }) {
    const servers = quick ? 1_000 : 10_000;
    using folder = tempFolder();
    const toMs = Math.floor(Date.now() / dayMs) * dayMs;
    const fromMs = toMs - 365 * dayMs;
    await writeChanges(join(folder.path, "sandwatch.db"), {
      targets: 1,
      servers,
      changesEach: 99,
      fromMs,
      toMs,
      isRolledUp: true,
    });
    const program = await buildProgram(folder.path);
    await using service = await startService();
    service.list(region, servers);
    const settings = { origin: service.origin, regions: [region], every: "5s" };
    await using daemon = await startDaemon(program, folder.path, settings);
    await untilShown(daemon.metricsUrl, servers);
    const by = `from=${new Date(fromMs).toISOString()}&to=${new Date(toMs).toISOString()}&by=server`;
    const address = new URL(`api/v1/occupancy?${by}&limit=10000`, daemon.metricsUrl).href;

    const delayDuring = async (work: () => Promise<unknown>): Promise<number> => {
      await daemon.read("watch");
      await daemon.whileRunning(work());
      return (await daemon.read("unwatch")).delay.p99Ms;
    };
    const idleMs = await delayDuring(() => setTimeout(10_000));
    const seconds: number[] = [];
    let refused = 0;
    const ask = async (): Promise<void> => {
      const beganMs = performance.now();
      const response = await fetch(address, { signal: AbortSignal.timeout(600_000) });
      const body = await response.text();
      if (response.status === 429) refused += 1;
      else if (response.status !== 200) throw new Error(`${response.status} ${body.slice(0, 500)}`);
      else seconds.push((performance.now() - beganMs) / 1_000);
    };
    await delayDuring(ask);
    const [alone = Number.NaN] = seconds;
    const busyMs = await delayDuring(() => Promise.all(Array.from({ length: atOnce }, ask)));
    process.stderr.write(
      `${atOnce} at once: ${refused} got 429, ${seconds.slice(1).join(", ")} s\n`,
    );
    const of = `${servers.toLocaleString("en")} servers over a year, ${99 * servers} changes`;
    return [
      { what: `a report by server, ${of}`, unit: "s", samples: [alone], budget: 10 },
      {
        what: `event-loop delay above idle, p99, of ${atOnce} such reports at once`,
        unit: "ms",
        samples: [busyMs - idleMs],
        budget: 20,
      },
    ];
  },
};
