import { expect, it } from "vitest";
import { postgresFolder, postgresSettings } from "../store/support/postgres.ts";
import { writeConfig } from "../support/config-file.ts";
import { startOneServerService } from "../support/one-server-service.ts";
import {
  ann as annInPagerduty,
  pagerAt,
  startPagerdutyService,
} from "../support/pagerduty-service.ts";
import { queryPostgres } from "../support/query-postgres.ts";
import { startSandwatch } from "../support/sandwatch-process.ts";
import { ann, startSlackService } from "../support/slack-service.ts";
import { receiverOf } from "../support/slack-world.ts";
import { freePort } from "./support/peer-process.ts";
import { until } from "./support/until.ts";

/** Two processes on PostgreSQL of which the first is active, with receivers by which people act. */
async function openWorld() {
  const service = await startOneServerService("idle");
  const slack = await startSlackService(Date.now);
  let address = "";
  const pagerduty = await startPagerdutyService(() => Promise.resolve(address), Date.now);
  const pager = pagerAt(pagerduty.server.origin);
  const schema = `acts_${process.pid}`;
  const url = postgresSettings(postgresFolder ?? "", schema).url.reveal();
  const start = async () => {
    const port = await freePort();
    const { config } = writeConfig({
      regions: { us: { base_url: service.baseUrl } },
      poll: { every: "1s", rate_limit: { requests: 100, per: "1s" } },
      store: { postgres: { url, schema } },
      cluster: { address: `http://127.0.0.1:${port}`, lease: "5s", allow_http: true },
      http: { listen: `127.0.0.1:${port}` },
      alerts: {
        rules: [{ name: "err", on: "server", status: "error" }],
        receivers: [receiverOf(slack), pager],
      },
      log: { format: "json" },
    });
    const program = startSandwatch(["run", "--config", config]);
    return { program, address: `http://127.0.0.1:${port}` };
  };
  const first = await start();
  await first.program.line("slack.connected");
  const second = await start();
  await second.program.line("process.standing_by");
  // PagerDuty knows the standby alone, which passes its webhooks on.
  address = second.address;
  const read = (statement: string) =>
    queryPostgres(postgresFolder ?? "", statement.replaceAll("$", `${schema}.`));
  return { service, slack, pagerduty, first, second, read };
}

it("what people do in Slack and PagerDuty acts once across a take-over, by whichever process is active", async () => {
  const { service, slack, pagerduty, first, second, read } = await openWorld();
  const acknowledged = async (): Promise<readonly unknown[]> =>
    read("select author from $acknowledgements");
  service.show("error");
  await until("Slack has the message", async () => {
    return (await read("select message from $message_threads")).length > 0;
  });
  await until("PagerDuty has the alert", async () => pagerduty.events.length > 0);
  expect(slack.state.opened).toBe(1);
  expect(await slack.click("acknowledge", ann)).toBe(true);
  expect(await acknowledged()).toHaveLength(1);
  await pagerduty.send("incident.unacknowledged", annInPagerduty);
  // Whether the first process gets it, acts, and stores that, is a matter of chance.
  const id = "01EVENT";
  const sent = pagerduty.send("incident.acknowledged", annInPagerduty, { id });
  first.program.send("SIGKILL");
  await sent;
  await second.program.line("slack.connected");
  await until("it was accepted", async () => {
    const { status } = await pagerduty.send("incident.acknowledged", annInPagerduty, { id });
    return status === 200;
  });
  expect(
    await read("select event_id from $received_events where event_id = '01EVENT'"),
  ).toHaveLength(1);
  expect(slack.open()).toHaveLength(1);
  expect(await slack.click("silence", ann)).toBe(true);
  expect(await read("select author from $silences")).toHaveLength(1);
  second.program.send("SIGTERM");
  const { code, out, err } = await second.program.ended;
  expect([code, err]).toEqual([0, ""]);
  expect(out).not.toContain("T0PSECRET");
  await slack.until(() => slack.open().length === 0);
});
