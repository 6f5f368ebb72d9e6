import { join } from "node:path";
import { expect, it } from "vitest";
import { z } from "zod";
import { startReceiverServer, status } from "../notify/support/receiver-server.ts";
import { checkRules, ofPostgres } from "../support/known-series.ts";
import { prometheusFolder, readRuleGroups, recordingRulesOf } from "../support/rule-files.ts";
import { tempFolder } from "../support/temp-folder.ts";
import { alertsOf, startAlertmanager } from "./support/alertmanager-server.ts";
import { backfillRecorded, writeHastyRules } from "./support/hasty-rules.ts";
import { freePort, getJson } from "./support/peer-process.ts";
import { startPrometheus } from "./support/prometheus-server.ts";
import type { Prometheus } from "./support/prometheus-server.ts";
import { openRealWorld } from "./support/real-world.ts";
import { until } from "./support/until.ts";

const configFolder = join(prometheusFolder, "..");
const recorded = recordingRulesOf(readRuleGroups()).map(({ record }) => record);

const rulesSchema = z.looseObject({
  data: z.looseObject({
    groups: z.array(
      z.looseObject({
        rules: z.array(
          z.looseObject({
            name: z.string(),
            health: z.string(),
            lastError: z.string().optional(),
          }),
        ),
      }),
    ),
  }),
});
const alertsSchema = z.looseObject({
  data: z.looseObject({
    alerts: z.array(z.looseObject({ annotations: z.record(z.string(), z.string()) })),
  }),
});

async function expectHealthyRules({ address }: Prometheus, count: number): Promise<void> {
  const { data } = rulesSchema.parse(await getJson(`${address}/api/v1/rules`));
  const rules = data.groups.flatMap((group) => group.rules);
  expect(rules.length).toBe(count);
  expect(rules.filter(({ health, lastError = "" }) => health !== "ok" || lastError !== "")).toEqual(
    [],
  );
}

it("a real Prometheus evaluates every rule with data, and alerts on what happens", async () => {
  const [alertmanagerPort, awayPort] = [await freePort(), await freePort()];
  await startAlertmanager(alertmanagerPort, join(configFolder, "compose/alertmanager.yaml"));
  const refusing = await startReceiverServer(status(400));
  const world = await openRealWorld({
    servers: 7,
    probes: [{ name: "login", operation: "user", id: "nobody", every: "2s" }],
    alerts: {
      receivers: [
        {
          name: "alertmanager",
          type: "alertmanager",
          urls: [`http://127.0.0.1:${alertmanagerPort}`],
        },
        { name: "refusing", type: "webhook", url: refusing.origin },
        { name: "away", type: "webhook", url: `http://127.0.0.1:${awayPort}` },
      ],
    },
  });
  for (const server of [0, 1, 2]) world.show(server, "occupied");
  const folder = tempFolder();
  await backfillRecorded(folder);
  const alertmanagers = [{ static_configs: [{ targets: [`127.0.0.1:${alertmanagerPort}`] }] }];
  const prometheus = await startPrometheus(
    { sandwatch: await world.start() },
    { rule_files: writeHastyRules(), alerting: { alertmanagers } },
    folder,
  );
  const isFiring = async (alert: string): Promise<boolean> => {
    const query = `ALERTS{alertname="${alert}", alertstate="firing"}`;
    return (await prometheus.query(query)).length > 0;
  };
  const untilFiring = async (...alerts: readonly string[]): Promise<void> => {
    for (const alert of alerts) {
      await until(alert, async () => isFiring(alert));
    }
  };
  const untilOver = async (...alerts: readonly string[]): Promise<void> => {
    for (const alert of alerts) {
      await until(`no ${alert}`, async () => ((await isFiring(alert)) ? undefined : true));
    }
  };

  for (const record of recorded) {
    await until(record, async () => (await prometheus.query(record)).length > 0);
  }
  await expectHealthyRules(prometheus, readRuleGroups().flatMap(({ rules }) => rules).length);

  world.show(3, "error");
  await untilFiring(
    "SandboxServerInError",
    "SandboxProbeFailing",
    "SandwatchNotificationsDead",
    "SandwatchReceiverFailing",
  );
  // sandwatch notifies of it itself, so the rules do not.
  const second = await until("the second line's alert", async () =>
    (await alertsOf(alertmanagerPort)).find(
      ({ labels, status: { state } }) =>
        labels["alertname"] === "SandboxServerInError" && state === "suppressed",
    ),
  );
  expect(second.annotations["summary"]).toMatch(/^1 \S+ in error in us \(research\)$/);
  const firsts = (await alertsOf(alertmanagerPort)).filter(
    ({ labels }) => labels["alertname"] === "server-error",
  );
  expect(firsts).toMatchObject([{ status: { state: "active" } }]);

  world.fail({ kind: "odd" });
  await untilFiring("SandboxAnswersDeviate");

  world.fail({ kind: "status", status: 500 });
  await untilFiring("SandboxTargetDown", "SandwatchAllTargetsDown");
  await until(
    "servers that have been stale for some evaluations",
    async () => (await prometheus.query("absent_over_time(sandbox_servers[5s])")).length > 0,
  );
  expect(await isFiring("SandboxServerInError")).toBe(true);

  world.show(3, "idle");
  world.fail();
  await untilOver("SandboxTargetDown", "SandwatchAllTargetsDown", "SandboxServerInError");

  world.fail({ kind: "status", status: 401 });
  await untilFiring("SandboxKeyRefused");
  const { data } = alertsSchema.parse(await getJson(`${prometheus.address}/api/v1/alerts`));
  const texts = data.alerts.flatMap(({ annotations }) => Object.values(annotations));
  expect(texts.length).toBeGreaterThan(6);
  for (const text of texts) expect(text).not.toMatch(/\{\{|<error|<no value>/);

  await world.stop();
  await untilFiring("SandwatchDown");
  await expectHealthyRules(prometheus, readRuleGroups().flatMap(({ rules }) => rules).length);

  const { checked } = await checkRules();
  const asked = checked.flatMap(({ metrics }) =>
    [...metrics].filter((each) => !ofPostgres.test(each)),
  );
  for (const metric of new Set(asked)) {
    const found = await prometheus.query(`count(last_over_time(${metric}[10m]))`);
    expect([metric, found.length]).toEqual([metric, 1]);
  }
});
