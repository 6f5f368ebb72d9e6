import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Peer } from "./peer.ts";
import { apiKey } from "./site.ts";
import { freePort, startTool } from "./tool-process.ts";

const here = (path: string): string => fileURLToPath(new URL(path, import.meta.url));

/** prom-client and zod used plainly, as in `naive-exporter.ts`. */
export const naiveExporter: Peer = {
  name: "naive exporter",
  tells: {
    perServer: "yes",
    transitions: "only what Prometheus sees between two scrapes",
    alerts: "by Prometheus and Alertmanager; a failed poll ends it, and so every series",
    history: "what Prometheus keeps; none of its own",
  },
  async start(site) {
    const port = await freePort();
    const scrapeUrl = `http://127.0.0.1:${port}/metrics`;
    const args = [here("naive-exporter.ts"), site.url, apiKey, String(site.everyMs), String(port)];
    return {
      kind: "polls",
      process: await startTool(process.execPath, args, scrapeUrl),
      scrapeUrl,
    };
  },
};

export const sandwatch = sandwatchPeer("sandwatch", true);
export const sandwatchTotals = sandwatchPeer("sandwatch, per_server off", false);

function sandwatchPeer(name: string, perServer: boolean): Peer {
  return {
    name,
    tells: {
      perServer: perServer ? "yes" : "in alerts, log and status page; metrics have totals",
      transitions: "counted, timed, logged and stored, at each poll",
      alerts: "of itself, by signed webhooks that survive a restart",
      history: "its own database: state, incidents, deliveries, seconds in each status",
    },
    async start(site, folder) {
      const port = await freePort();
      const config = join(folder, "sandwatch.json");
      // YAML takes JSON as it is.
      const settings = {
        regions: { bench: { base_url: site.baseUrl } },
        keys: [{ name: "bench", api_key: apiKey }],
        poll: { every: `${site.everyMs}ms`, timeout: "60s", max_body: "512MiB" },
        store: { path: join(folder, "sandwatch.db") },
        http: { listen: `127.0.0.1:${port}` },
        metrics: { per_server: perServer },
      };
      await writeFile(config, JSON.stringify(settings));
      const address = `http://127.0.0.1:${port}`;
      const args = [here("../../src/cli.ts"), "run", "--config", config];
      return {
        kind: "polls",
        process: await startTool(process.execPath, args, `${address}/-/ready`),
        scrapeUrl: `${address}/metrics`,
      };
    },
  };
}
