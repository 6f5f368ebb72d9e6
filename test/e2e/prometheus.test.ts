import { expect, it } from "vitest";
import { z } from "zod";
import { getJson } from "./support/peer-process.ts";
import { startPrometheus } from "./support/prometheus-server.ts";
import { openRealWorld } from "./support/real-world.ts";
import { formats, startTranslator } from "./support/translator.ts";
import { until } from "./support/until.ts";

const targetsSchema = z.looseObject({
  data: z.looseObject({
    activeTargets: z.array(z.looseObject({ health: z.string(), lastError: z.string() })),
  }),
});

it("a real Prometheus scrapes both formats without an error, and counts what there is", async () => {
  const world = await openRealWorld({ servers: 7, alerts: { receivers: [] } });
  for (const server of [0, 1, 2]) world.show(server, "occupied");
  world.show(3, "error");
  const address = await world.start();
  const text = await startTranslator(address, formats.text);
  const openMetrics = await startTranslator(address, formats.openmetrics);
  const prometheus = await startPrometheus({
    sandwatch: address,
    text: text.url,
    openmetrics: openMetrics.url,
  });

  const countsOf = async (promql: string): Promise<Readonly<Record<string, number>>> =>
    Object.fromEntries(
      (await prometheus.query(promql)).map(({ metric, value }) => [metric["status"] ?? "", value]),
    );
  const jobs = ["sandwatch", "text", "openmetrics"];
  const serversOf = (job: string): string =>
    `sum by (status) (sandbox_server_status{job="${job}"})`;
  for (const job of jobs) {
    await until(`all servers of ${job} in Prometheus`, async () => {
      const counts = await countsOf(serversOf(job));
      return counts["occupied"] === 3 ? counts : undefined;
    });
    const all = { idle: 3, occupied: 3, error: 1, unknown: 0 };
    expect(await countsOf(serversOf(job))).toEqual(all);
    expect(await countsOf(`sum by (status) (sandbox_servers{job="${job}"})`)).toEqual(all);
    expect(await countsOf(`count (sandbox_server_info{job="${job}"})`)).toEqual({ "": 7 });
  }
  // The same series, whatever the format; the text has none that OpenMetrics lacks.
  const series = await prometheus.query('count by (job) ({__name__=~"sand.+"})');
  expect(new Set(series.map(({ value }) => value)).size).toBe(1);
  expect(series.length).toBe(3);
  expect([...text.types]).toEqual([expect.stringMatching(/^text\/plain/)]);
  expect([...openMetrics.types]).toEqual([expect.stringMatching(/^application\/openmetrics-text/)]);

  world.show(3, "idle");
  await until("the change", async () => (await countsOf(serversOf("sandwatch")))["error"] === 0);
  const { data } = targetsSchema.parse(await getJson(`${prometheus.address}/api/v1/targets`));
  const well = { health: "up", lastError: "" };
  expect(data.activeTargets).toMatchObject([well, well, well]);
  expect(await countsOf("min(min_over_time(up[1m]))")).toEqual({ "": 1 });
  const trouble =
    "sum ({__name__=~'prometheus_target_scrapes_(sample|exceeded).*_total'}) or vector(0)";
  expect(await countsOf(trouble)).toEqual({ "": 0 });
});

it("a server that is gone, and those of a target that cannot be seen, are stale at once", async () => {
  const world = await openRealWorld({ servers: 3, alerts: { receivers: [] } });
  const prometheus = await startPrometheus({ sandwatch: await world.start() });
  const shown = async (): Promise<readonly string[]> =>
    (await prometheus.query("sandbox_server_info"))
      .map(({ metric }) => metric["server"] ?? "")
      .toSorted();
  const [gone = "", ...others] = world.serverIds;
  await until("all servers", async () => (await shown()).length === 3);

  world.show(0, "absent");
  await until("one less", async () => (await shown()).length < 3);
  expect(await shown()).toEqual(others.toSorted());
  expect(await prometheus.query(`sandbox_server_status{server="${gone}"}`)).toEqual([]);

  world.fail({ kind: "status", status: 500 });
  await until("none", async () => (await shown()).length === 0);
  expect(await prometheus.query("sandbox_servers")).toEqual([]);
  expect(await prometheus.query("sandwatch_target_up")).toMatchObject([{ value: 0 }]);
  const counted = await prometheus.query('sandbox_server_status_seconds_total{status="idle"} > 0');
  expect(counted.length).toBeGreaterThan(0);

  world.fail();
  await until("them again", async () => (await shown()).length === 2);
});
