import { writeFileSync } from "node:fs";
import type { IncomingMessage, ServerResponse } from "node:http";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { expect, it } from "vitest";
import { z } from "zod";
import { startPeer } from "../service/peer.ts";
import { tempFolder } from "../support/temp-folder.ts";
import { alertsOf, startAlertmanager } from "./support/alertmanager-server.ts";
import { freePort } from "./support/peer-process.ts";
import { openRealWorld } from "./support/real-world.ts";
import { until } from "./support/until.ts";

const webhookSchema = z.looseObject({
  version: z.literal("4"),
  status: z.string(),
  alerts: z.array(z.looseObject({ status: z.string(), labels: z.record(z.string(), z.string()) })),
});

/** What Alertmanager itself sends on, as "firing of-a", in order. */
async function startPager() {
  const pages: string[] = [];
  const receive = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const { alerts } = webhookSchema.parse(JSON.parse(await text(request)));
    for (const { status, labels } of alerts) pages.push(`${status} ${labels["server_id"]}`);
    response.writeHead(200).end();
  };
  const { baseUrl } = await startPeer((request, response) => void receive(request, response));
  return { pages, url: `${baseUrl}/` };
}

/** Of an Alertmanager that notifies of its alerts at once, each for itself. */
function writeConfig(pagerUrl: string): string {
  const file = join(tempFolder(), "alertmanager.yml");
  const route = { receiver: "pager", group_by: ["..."], group_wait: "0s", group_interval: "1s" };
  const receivers = [{ name: "pager", webhook_configs: [{ url: pagerUrl, send_resolved: true }] }];
  writeFileSync(file, JSON.stringify({ route, receivers }));
  return file;
}

async function serversOf(port: number): Promise<readonly string[]> {
  return (await alertsOf(port)).map(({ labels }) => labels["server_id"] ?? "").toSorted();
}

it("a real Alertmanager shows what fires, pages for it, and lets it end", async () => {
  const [first, second] = [await freePort(), await freePort()];
  const pager = await startPager();
  const configFile = writeConfig(pager.url);
  await startAlertmanager(first, configFile);
  const urls = [second, first].map((port) => `http://127.0.0.1:${port}`);
  const world = await openRealWorld({
    servers: 3,
    alerts: { receivers: [{ name: "am", type: "alertmanager", urls }] },
  });
  const [broken = "", other = ""] = world.serverIds;

  world.show(0, "error");
  await world.start();
  const [alert] = await until("an alert", async () => {
    const alerts = await alertsOf(first);
    return alerts.length > 0 ? alerts : undefined;
  });
  expect(alert?.labels).toEqual({
    alertname: "server-error",
    severity: "critical",
    subject: "server",
    region: "us",
    key: "research",
    sandbox_id: expect.any(String),
    server_id: broken,
    server_name: expect.any(String),
  });
  expect(alert?.annotations["summary"]).toContain("in error in us/research");
  expect(alert?.status.state).toBe("active");
  const aheadMs = Date.parse(alert?.endsAt ?? "") - Date.now();
  expect(aheadMs).toBeGreaterThan(4 * 60_000);
  await until("a page", async () => pager.pages.length > 0);

  world.show(0, "idle");
  await until("no alert", async () => (await serversOf(first)).length === 0);
  await until("the end of it", async () => pager.pages.length > 1);
  expect(pager.pages).toEqual([`firing ${broken}`, `resolved ${broken}`]);

  world.show(1, "error");
  await until("another alert", async () => (await serversOf(first)).length === 1);
  await world.stop();
  await startAlertmanager(second, configFile);
  expect(await serversOf(second)).toEqual([]);
  await world.start();
  await until(
    "the instance that was away to have it",
    async () => (await serversOf(second)).length > 0,
  );
  expect(await serversOf(second)).toEqual([other]);
  expect(await serversOf(first)).toEqual([other]);
});
