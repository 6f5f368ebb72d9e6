import { expect, it } from "vitest";
import { numberOf } from "../../generate/dashboards/colours.ts";
import { startReceiverServer, status } from "../notify/support/receiver-server.ts";
import { readDashboards, readVariableQueries, substitute } from "../support/dashboards.ts";
import type { Choice, Panel, Target } from "../support/dashboards.ts";
import { ofPostgres } from "../support/known-series.ts";
import { tempFolder } from "../support/temp-folder.ts";
import { backfillRecorded, writeHastyRules } from "./support/hasty-rules.ts";
import { freePort } from "./support/peer-process.ts";
import { startPrometheus } from "./support/prometheus-server.ts";
import type { Prometheus, Range } from "./support/prometheus-server.ts";
import { openRealWorld } from "./support/real-world.ts";
import { formats, startTranslator } from "./support/translator.ts";
import { until } from "./support/until.ts";

const daySeconds = 86_400;
const dashboards = readDashboards();

/** No maintenance window is configured here. */
const ofWindows = /sandwatch_maintenance_active/;

/** Asks as Grafana would, of the last minute, or of three days; everything is scraped each second. */
async function ask(
  prometheus: Prometheus,
  panel: Panel,
  { expr, instant = false }: Target,
  choice: Choice,
): Promise<readonly Range[]> {
  const promql = substitute(expr, { ...choice, __range: "15m", __rate_interval: "10s" });
  if (instant) {
    const samples = await prometheus.query(promql);
    return samples.map(({ metric, value }) => ({
      metric,
      values: Number.isNaN(value) ? [] : [value],
    }));
  }
  const now = Math.floor(Date.now() / 1_000);
  const today = now - (now % daySeconds);
  return prometheus.queryRange(
    promql,
    panel.interval === "1d"
      ? { from: today - 2 * daySeconds, to: today, step: daySeconds }
      : { from: now - 60, to: now, step: 1 },
  );
}

it("a real Prometheus answers every query of every dashboard with data, from either format", async () => {
  const refusing = await startReceiverServer(status(400));
  const taking = await startReceiverServer();
  const world = await openRealWorld({
    servers: 7,
    probes: [
      { name: "login", operation: "user", id: "user-1", every: "2s" },
      { name: "worlds", operation: "universes", every: "2s" },
    ],
    alerts: {
      receivers: [
        { name: "taking", type: "webhook", url: taking.origin },
        { name: "refusing", type: "webhook", url: refusing.origin },
        { name: "away", type: "webhook", url: `http://127.0.0.1:${await freePort()}` },
      ],
    },
  });
  for (const server of [0, 1, 2]) world.show(server, "occupied");
  const address = await world.start();
  const peers = await Promise.all(
    Object.values(formats).map(async (accept) => {
      const folder = tempFolder();
      await backfillRecorded(folder);
      const { url, types } = await startTranslator(address, accept);
      const rules = { rule_files: writeHastyRules() };
      return { prometheus: await startPrometheus({ sandwatch: url }, rules, folder), types };
    }),
  );
  const [first] = peers;
  if (!first) throw new TypeError("no Prometheus");
  const everywhere = async (
    what: string,
    isSo: (prometheus: Prometheus) => Promise<boolean>,
  ): Promise<void> => {
    for (const { prometheus } of peers) {
      await until(what, () => isSo(prometheus));
    }
  };
  const shows = (promql: string) => async (prometheus: Prometheus) =>
    (await prometheus.query(promql)).length > 0;

  // What is sent, refused and observed before the first scrape would be no increase.
  await everywhere("a first scrape", shows("sandbox_servers"));
  world.show(3, "error");
  world.show(0, "idle");
  await everywhere("the error", shows('sandbox_servers{status="error"} > 0'));
  world.fail({ kind: "odd", kinds: ["wrong_types"] });
  // A counter that begins with its first deviation has increased only with the next one.
  await everywhere("drift", shows("increase(sandwatch_schema_deviations_total[5m]) > 0"));
  world.fail({ kind: "status", status: 429 });
  await everywhere("too many requests", shows('sandwatch_api_requests_total{code="429"}'));
  world.fail();
  await everywhere("all seen again", shows("sandwatch_target_up == 1"));

  const server = world.serverIds[3] ?? "";
  const [info] = await until("the server", async () => {
    const found = await first.prometheus.query(`sandbox_server_info{server="${server}"}`);
    return found.length > 0 ? found : undefined;
  });
  const sandbox = info?.metric["sandbox"] ?? "";
  const any = { region: ".*", key: ".*", server_name: ".*", instance: ".*" };
  const choice = { ...any, sandbox, server, erring: server };
  const offered: Choice = {
    region: "us",
    key: "research",
    server_name: info?.metric["server_name"] ?? "",
    instance: info?.metric["instance"] ?? "",
    sandbox,
    server,
    erring: server,
  };

  for (const { whole, panels } of dashboards) {
    for (const panel of panels) {
      for (const target of panel.targets) {
        if (ofPostgres.test(target.expr) || ofWindows.test(target.expr)) continue;
        await everywhere(`${whole.title}: ${panel.title} ${target.refId}`, async (prometheus) => {
          const series = await ask(prometheus, panel, target, choice);
          return series.some(({ values }) => values.length > 0);
        });
      }
    }
    for (const { name, expr, label, ofResult } of readVariableQueries(whole)) {
      const promql = substitute(expr, choice);
      const values = ofResult
        ? (await first.prometheus.query(promql)).map(({ metric }) => metric[label])
        : await first.prometheus.labelValues(promql, label);
      expect([name, values]).toEqual([name, expect.arrayContaining([offered[name]])]);
    }
  }
  expect(peers.map(({ types }) => [...types].join())).toEqual([
    expect.stringMatching(/^text\/plain/),
    expect.stringMatching(/^application\/openmetrics-text/),
  ]);

  const answerOf = async (file: string, title: string): Promise<readonly Range[]> => {
    const panels = dashboards.find((each) => each.file === file)?.panels ?? [];
    const panel = panels.find((each) => each.title === title);
    const [target] = panel?.targets ?? [];
    if (!panel || !target) throw new TypeError(`no panel ${title}`);
    return ask(first.prometheus, panel, target, choice);
  };
  const identity = { region: "us", key: "research", sandbox, server };
  expect(await answerOf("fleet.json", "Servers in error")).toMatchObject([{ values: [1] }]);
  expect(await answerOf("fleet.json", "Servers in error now")).toMatchObject([
    { metric: { ...identity, server_name: info?.metric["server_name"] } },
  ]);
  const [life] = await answerOf("fleet.json", "History of servers in error");
  expect(life?.values.at(-1)).toBe(numberOf("error"));
  expect(await answerOf("server.json", "Status")).toMatchObject([{ values: [numberOf("error")] }]);

  // What was not seen is not claimed; what is known of the target still is.
  world.fail({ kind: "status", status: 500 });
  const untilNothing = (file: string, title: string) =>
    until(`nothing in ${title}`, async () => (await answerOf(file, title)).length === 0);
  for (const title of ["Servers in error", "Servers in error now", "Servers", "Occupied"]) {
    await untilNothing("fleet.json", title);
  }
  await untilNothing("server.json", "Status");
  expect(await answerOf("fleet.json", "Targets down")).toMatchObject([{ values: [1] }]);
  const [target] = await answerOf("server.json", "Its target");
  expect(target?.values.at(-1)).toBe(0);

  world.show(3, "absent");
  world.fail();
  await until("the others", async () =>
    (await answerOf("fleet.json", "Servers"))[0]?.values[0] === 6 ? true : undefined,
  );
  await untilNothing("fleet.json", "Servers in error now");
  await untilNothing("server.json", "Status");
});
