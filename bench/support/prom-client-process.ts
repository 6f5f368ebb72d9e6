import { Gauge, Registry } from "prom-client";
import { z } from "zod";
import { mixUuid } from "./random-bits.ts";
import { answerParent } from "./helper.ts";

/** The obvious way: a gauge a family, and a label set for each server and status in its registry. */
const registry = new Registry();
const labels = ["region", "key", "sandbox", "server"] as const;

function fill(servers: number): void {
  const status = gauge("sandbox_server_status", [...labels, "status"]);
  const info = gauge("sandbox_server_info", [...labels, "server_name", "benchmark"]);
  const since = gauge("sandbox_server_status_since_timestamp_seconds", labels);
  const sandboxStatus = gauge("sandbox_status", ["region", "key", "sandbox", "status"]);
  for (let index = 0; index < servers; index += 1) {
    const sandbox = mixUuid(1, 1, index >>> 2);
    const server = { region: "us", key: "research", sandbox, server: mixUuid(1, 2, index) };
    for (const each of ["idle", "occupied", "error", "unknown"]) {
      status.set({ ...server, status: each }, each === "idle" ? 1 : 0);
      if (index % 4 > 0) continue;
      sandboxStatus.set({ region: "us", key: "research", sandbox, status: each }, 0);
    }
    info.set({ ...server, server_name: "github", benchmark: "" }, 1);
    since.set(server, 1_790_000_000 + index / 1_000);
  }
}

function gauge(name: string, labelNames: readonly string[]): Gauge {
  return new Gauge({ name, help: name, labelNames: [...labelNames], registers: [registry] });
}

answerParent({
  fill: (servers) => fill(z.number().parse(servers)),
  async render() {
    const before = process.cpuUsage();
    const text = await registry.metrics();
    const { user, system } = process.cpuUsage(before);
    const series = text.match(/^[a-z]/gm)?.length ?? 0;
    return (user + system) / 1_000 / series;
  },
});
