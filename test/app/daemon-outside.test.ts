import { expect, it } from "vitest";
import { startReceiverServer, status } from "../notify/support/receiver-server.ts";
import { events } from "../support/heard.ts";
import { postableAlertsSchema } from "../support/postable-alerts.ts";
import { watchWorld } from "../support/watched-world.ts";

it("posts an alert when a server errs, and its end when it has recovered", async () => {
  const server = await startReceiverServer(status(200));
  const receivers = [{ name: "am", type: "alertmanager", urls: [server.origin] }];
  const world = await watchWorld({ alerts: { receivers } });
  await world.poll();
  world.show(0, "error");
  await world.poll();
  world.show(0, "idle");
  await world.poll();

  const alerts = server.requests.map(({ body }) => postableAlertsSchema.parse(JSON.parse(body)));
  expect(alerts.map(([alert]) => alert?.labels["server_id"])).toEqual([
    world.serverIds[0],
    world.serverIds[0],
  ]);
  const nowMs = world.clock.now().utcMs;
  expect(alerts.map(([alert]) => Date.parse(alert?.endsAt ?? "") - nowMs)).toEqual([295_000, 0]);
  expect(await world.metrics()).toContain('sandwatch_notifications_total{receiver="am"} 2');
});

it("sends a heartbeat while it polls, and none while the store takes nothing", async () => {
  const server = await startReceiverServer(status(200));
  const news = new EventTarget();
  let commits = 0;
  let broken = false;
  const world = await watchWorld({
    alerts: { receivers: [{ name: "watchdog", type: "heartbeat", url: server.url.reveal() }] },
    wrapStore: (store) => ({
      ...store,
      async commitPoll(...poll) {
        try {
          if (broken) throw new Error("disk full");
          await store.commitPoll(...poll);
        } finally {
          commits += 1;
          setImmediate(() => news.dispatchEvent(new Event("commit")));
        }
      },
    }),
  });
  const letPass = async (minutes: number): Promise<void> => {
    for (let step = 0; step < minutes * 12; step += 1) {
      const before = commits;
      const committed = new Promise((resolve) =>
        news.addEventListener("commit", resolve, { once: true }),
      );
      world.clock.advance(5_000);
      if (commits === before) await committed;
    }
  };
  await world.daemon().start();
  await letPass(1);
  await server.received(1);

  broken = true;
  await letPass(2);
  expect(server.requests).toHaveLength(1);
  expect(events(world).filter((event) => event?.startsWith("heartbeat."))).toEqual([
    "heartbeat.withheld",
  ]);

  broken = false;
  await letPass(1);
  await server.received(2);
  expect(events(world)).toContain("heartbeat.resumed");
});
