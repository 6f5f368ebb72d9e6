import { expect, it } from "vitest";
import { listNotifications } from "../../src/api/operations/notifications.ts";
import { startReceiverServer } from "../notify/support/receiver-server.ts";
import { startForwardProxy } from "../support/forward-proxy.ts";
import { ca, startPrivateServer } from "../support/private-ca.ts";
import { watchWorld } from "../support/watched-world.ts";

it("a proxy that refuses delays its receivers only, and nothing is lost", async () => {
  const ids: unknown[] = [];
  const { port } = await startPrivateServer(({ headers }, response) => {
    ids.push(headers["webhook-id"]);
    response.writeHead(204).end();
  });
  const near = await startReceiverServer();
  const proxy = await startForwardProxy({ credentials: "ann:T0PSECRET" });
  const world = await watchWorld({
    alerts: {
      rules: [{ name: "err", on: "server", status: "error" }],
      receivers: [
        { name: "near", type: "webhook", group_wait: "0s", url: near.url.reveal() },
        { name: "far", type: "webhook", group_wait: "0s", url: `https://x.example.com:${port}/` },
      ],
      outbound: { proxy_url: proxy.url, ca },
    },
  });
  await world.poll();
  proxy.refuse(407);
  world.show(0, "error");
  await world.poll(2);
  expect([near.requests.length, ids.length]).toEqual([1, 0]);
  const api = world.daemon().api;
  const { notifications } = await api(listNotifications, { receiver: "far" });
  expect(notifications).toMatchObject([{ state: "pending" }]);
  const shown = JSON.stringify([notifications, world.log, await world.metrics()]);
  expect(shown).toContain("the proxy requires a valid user name and password (HTTP 407)");
  expect(shown).not.toContain("T0PSECRET");

  proxy.refuse(null);
  world.show(0, "idle");
  await world.poll(20);
  expect([near.requests.length, ids.length]).toEqual([2, 2]);
  expect(new Set(ids).size).toBe(2);
});
