import { setTimeout } from "node:timers/promises";
import { buildProgram, startDaemon } from "../support/daemon.ts";
import { untilShown } from "../support/fleet-polls.ts";
import { openPages } from "../support/open-pages.ts";
import type { Measurement, Scenario } from "../support/row.ts";
import { startService } from "../support/service.ts";
import { tempFolder } from "../support/temp-folder.ts";

const region = "main";
const everyMs = 10_000;

/** What open status pages cost beside polling: 1 % of statuses change from poll to poll, and each page hears of it. */
export const openStatusPages: Scenario = {
  name: "open-pages",
  async run({ quick }) {
    const size = quick ? { servers: 20_000, rounds: 1 } : { servers: 100_000, rounds: 3 };
    using folder = tempFolder();
    const program = await buildProgram(folder.path);
    await using service = await startService();
    const fleet = service.list(region, size.servers);
    const settings = { origin: service.origin, regions: [region], every: `${everyMs}ms` };
    await using daemon = await startDaemon(program, folder.path, settings);
    await untilShown(daemon.metricsUrl, size.servers);
    const root = new URL("./", daemon.metricsUrl).href;

    const cpuShare = async (): Promise<number> => {
      const before = await daemon.read();
      const beganMs = performance.now();
      for (let poll = 0; poll < 3; poll += 1) {
        fleet.change(0.01);
        service.sendNext(region);
        await daemon.whileRunning(setTimeout(everyMs));
      }
      const { cpuMs } = await daemon.read();
      return ((cpuMs - before.cpuMs) / (performance.now() - beganMs)) * 100;
    };
    await cpuShare();
    const rows: Measurement[] = [];
    for (const pages of [0, 200]) {
      await using open = await openPages(root, pages);
      const samples: number[] = [];
      await daemon.read("watch");
      for (let round = 0; round < size.rounds; round += 1) samples.push(await cpuShare());
      const { delay } = await daemon.read("unwatch");
      const { fetched } = open;
      if (pages > 0 && fetched.pages < pages) throw new Error("pages were not refreshed");
      const of = `${pages} open pages, ${size.servers.toLocaleString("en")} servers every 10 s`;
      rows.push({ what: `CPU of one core, ${of}`, unit: "%", samples });
      rows.push({ what: `event-loop delay, p99, ${of}`, unit: "ms", samples: [delay.p99Ms] });
      process.stderr.write(`${of}: ${JSON.stringify(fetched)}\n`);
    }
    return rows;
  },
};
