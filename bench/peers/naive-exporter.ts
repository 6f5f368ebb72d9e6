import { createServer } from "node:http";
import { Gauge, Registry } from "prom-client";
import { z } from "zod";

/** What anyone would write in an hour: no history, no alerts, no limits, no care for failure. */
const status = z.enum(["idle", "occupied", "error"]).nullish();
const server = z.object({ id: z.string(), server_name: z.string().nullish(), status });
const sandbox = z.object({ local_sandbox_id: z.string(), status, servers: z.array(server) });
const listing = z.object({ local_sandboxes: z.array(sandbox), total_count: z.number() });

const register = new Registry();
const serverStatus = new Gauge({
  name: "sandbox_server_status",
  help: "Whether a server is in a status.",
  labelNames: ["sandbox", "server", "server_name", "status"],
  registers: [register],
});

async function poll(url: string, apiKey: string): Promise<void> {
  const response = await fetch(url, { headers: { authorization: `Bearer ${apiKey}` } });
  const { local_sandboxes: sandboxes } = listing.parse(JSON.parse(await response.text()));
  serverStatus.reset();
  for (const { local_sandbox_id: sandboxId, servers } of sandboxes) {
    for (const { id, server_name: name, status: current } of servers) {
      for (const one of ["idle", "occupied", "error"]) {
        const labels = { sandbox: sandboxId, server: id, server_name: name ?? "", status: one };
        serverStatus.set(labels, current === one ? 1 : 0);
      }
    }
  }
}

const [url = "", apiKey = "", everyMs = "30000", port = "9741"] = process.argv.slice(2);
await poll(url, apiKey);
setInterval(() => void poll(url, apiKey), Number(everyMs));
createServer((_request, response) => {
  void register.metrics().then((text) => response.end(text));
}).listen(Number(port), "127.0.0.1");
