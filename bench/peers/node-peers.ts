import { readFile, symlink, writeFile } from "node:fs/promises";
import { stripTypeScriptTypes } from "node:module";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { buildProgram } from "../support/built-program.ts";
import { freePort } from "../support/free-port.ts";
import { imageArguments, imageEnvironment } from "../support/image.ts";
import type { Peer } from "./peer.ts";
import { apiKey } from "./site.ts";
import { startTool } from "./tool-process.ts";

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
  async start(site, folder) {
    const port = await freePort();
    const scrapeUrl = `http://127.0.0.1:${port}/metrics`;
    // Without types, as sandwatch: to strip them takes memory.
    const program = join(folder, "naive-exporter.mjs");
    await writeFile(
      program,
      stripTypeScriptTypes(await readFile(here("naive-exporter.ts"), "utf8")),
    );
    await symlink(here("../../node_modules"), join(folder, "node_modules"));
    const args = [program, site.url, apiKey, String(site.everyMs), String(port)];
    return {
      kind: "polls",
      process: await startTool(process.execPath, args, scrapeUrl),
      scrapeUrl,
    };
  },
};

export const sandwatch = sandwatchPeer("sandwatch", true);
export const sandwatchTotals = sandwatchPeer("sandwatch, per_server off", false);

/** As the image runs it. */
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
      const { path } = await buildProgram(folder);
      const args = [...imageArguments, path, "run", "--config", config];
      const environment = imageEnvironment(folder);
      return {
        kind: "polls",
        process: await startTool(process.execPath, args, `${address}/-/ready`, environment),
        scrapeUrl: `${address}/metrics`,
      };
    },
  };
}
