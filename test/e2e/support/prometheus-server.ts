import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { z } from "zod";
import { tempFolder } from "../../support/temp-folder.ts";
import { freePort, getJson, startPeer } from "./peer-process.ts";

export type Sample = { readonly metric: Readonly<Record<string, string>>; readonly value: number };

export interface Prometheus {
  readonly address: string;
  query(promql: string): Promise<readonly Sample[]>;
}

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

/**
 * A real Prometheus that scrapes every second.
 *
 * @param jobs the address to scrape for each name of a job
 * @param settings of its configuration beside those
 * @param folder its series are in `data` there
 */
export async function startPrometheus(
  jobs: Readonly<Record<string, string>>,
  settings: object = {},
  folder = tempFolder(),
): Promise<Prometheus> {
  const file = join(folder, "prometheus.yml");
  const scraped = Object.entries(jobs).map(([job_name, url]) => ({
    job_name,
    static_configs: [{ targets: [new URL(url).host] }],
  }));
  const global = { scrape_interval: "1s", scrape_timeout: "1s", evaluation_interval: "1s" };
  writeFileSync(file, JSON.stringify({ global, scrape_configs: scraped, ...settings }));
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
  return {
    address,
    async query(promql) {
      const url = `${address}/api/v1/query?query=${encodeURIComponent(promql)}`;
      const { data } = vectorSchema.parse(await getJson(url));
      return data.result.map(({ metric, value }) => ({ metric, value: Number(value[1]) }));
    },
  };
}
