import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { z } from "zod";
import { tempFolder } from "../support/temp-folder.ts";
import { freePort, getJson, startPeer } from "./support/peer-process.ts";
import { openRealWorld } from "./support/real-world.ts";
import { until } from "./support/until.ts";

const targetsSchema = z.looseObject({
  data: z.looseObject({
    activeTargets: z.array(z.looseObject({ health: z.string(), lastError: z.string() })),
  }),
});

const vectorSchema = z.looseObject({
  data: z.looseObject({
    resultType: z.literal("vector"),
    result: z.array(
      z.looseObject({
        metric: z.record(z.string(), z.string()),
        value: z.tuple([z.number(), z.string()]),
      }),
    ),
  }),
});

async function startPrometheus(scraped: string): Promise<string> {
  const folder = tempFolder();
  const file = join(folder, "prometheus.yml");
  const { host } = new URL(scraped);
  const job = { job_name: "sandwatch", static_configs: [{ targets: [host] }] };
  const global = { scrape_interval: "1s", scrape_timeout: "1s" };
  writeFileSync(file, JSON.stringify({ global, scrape_configs: [job] }));
  const port = await freePort();
  const address = `http://127.0.0.1:${port}`;
  await startPeer(
    "prometheus",
    [
      `--config.file=${file}`,
      `--storage.tsdb.path=${join(folder, "data")}`,
      `--web.listen-address=127.0.0.1:${port}`,
      // Without these it asks for files of its package.
      `--web.console.libraries=${folder}`,
      `--web.console.templates=${folder}`,
    ],
    `${address}/-/ready`,
  );
  return address;
}

it("a real Prometheus scrapes without an error, and counts what there is", async () => {
  const world = await openRealWorld({ servers: 7, alerts: { receivers: [] } });
  for (const server of [0, 1, 2]) world.show(server, "occupied");
  world.show(3, "error");
  const prometheus = await startPrometheus(await world.start());

  const query = async (promql: string): Promise<Readonly<Record<string, number>>> => {
    const url = `${prometheus}/api/v1/query?query=${encodeURIComponent(promql)}`;
    const { data } = vectorSchema.parse(await getJson(url));
    return Object.fromEntries(
      data.result.map(({ metric, value }) => [metric["status"] ?? "", Number(value[1])]),
    );
  };
  const servers = "sum by (status) (sandbox_server_status)";
  await until("all servers in Prometheus", async () => {
    const counts = await query(servers);
    return counts["occupied"] === 3 ? counts : undefined;
  });
  expect(await query(servers)).toEqual({ idle: 3, occupied: 3, error: 1, unknown: 0 });
  expect(await query("sum by (status) (sandbox_servers)")).toEqual(await query(servers));
  expect(await query("count (sandbox_server_info)")).toEqual({ "": 7 });

  world.show(3, "idle");
  await until("the change", async () => ((await query(servers))["error"] === 0 ? true : undefined));
  expect(await query(servers)).toEqual({ idle: 4, occupied: 3, error: 0, unknown: 0 });

  const { data } = targetsSchema.parse(await getJson(`${prometheus}/api/v1/targets`));
  expect(data.activeTargets).toMatchObject([{ health: "up", lastError: "" }]);
  expect(await query("min_over_time(up[1m])")).toEqual({ "": 1 });
  const trouble =
    "sum ({__name__=~'prometheus_target_scrapes_(sample|exceeded).*_total'}) or vector(0)";
  expect(await query(trouble)).toEqual({ "": 0 });
});
