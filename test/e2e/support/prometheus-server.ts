import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { z } from "zod";
import { tempFolder } from "../../support/temp-folder.ts";
import { freePort, getJson, startPeer } from "./peer-process.ts";

export type Sample = { readonly metric: Readonly<Record<string, string>>; readonly value: number };

export interface Prometheus {
  readonly address: string;
  query(promql: string): Promise<readonly Sample[]>;
  /** The values of each series over a time, in seconds since 1970; those that are no number are omitted. */
  queryRange(
    promql: string,
    range: { readonly from: number; readonly to: number; readonly step: number },
  ): Promise<readonly Range[]>;
  /** The values of a label in the series of a selector. */
  labelValues(selector: string, label: string): Promise<readonly string[]>;
  /** Ends it before the test ends. */
  kill(): Promise<void>;
}

export type Range = {
  readonly metric: Readonly<Record<string, string>>;
  readonly values: readonly number[];
};

const point = z.tuple([z.number(), z.string()]);

const vectorSchema = z.looseObject({
  data: z.looseObject({
    resultType: z.literal("vector"),
    result: z.array(
      z.looseObject({
        metric: z.record(z.string(), z.string()),
        value: point,
      }),
    ),
  }),
});

const matrixSchema = z.looseObject({
  data: z.looseObject({
    resultType: z.literal("matrix"),
    result: z.array(
      z.looseObject({ metric: z.record(z.string(), z.string()), values: z.array(point) }),
    ),
  }),
});

const valuesSchema = z.looseObject({ data: z.array(z.string()) });

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
  const kill = await startPeer(
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
    kill,
    async query(promql) {
      const url = `${address}/api/v1/query?query=${encodeURIComponent(promql)}`;
      const { data } = vectorSchema.parse(await getJson(url));
      return data.result.map(({ metric, value }) => ({ metric, value: Number(value[1]) }));
    },
    async queryRange(promql, { from, to, step }) {
      const query = new URLSearchParams({
        query: promql,
        start: `${from}`,
        end: `${to}`,
        step: `${step}`,
      });
      const answer = await getJson(`${address}/api/v1/query_range?${query.toString()}`);
      return matrixSchema.parse(answer).data.result.map(({ metric, values }) => ({
        metric,
        values: values.map(([, value]) => Number(value)).filter((value) => !Number.isNaN(value)),
      }));
    },
    async labelValues(selector, label) {
      const query = new URLSearchParams({ "match[]": selector });
      return valuesSchema.parse(
        await getJson(`${address}/api/v1/label/${label}/values?${query.toString()}`),
      ).data;
    },
  };
}
