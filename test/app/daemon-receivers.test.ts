import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { alertmanagerMessageSchema } from "../notify/support/alertmanager-message.ts";
import { pagerdutyEventSchema } from "../notify/support/pagerduty-event.ts";
import { shownBy, slackMessageSchema } from "../notify/support/slack-message.ts";
import { startReceiverServer, status } from "../notify/support/receiver-server.ts";
import type { ReceiverServer } from "../notify/support/receiver-server.ts";
import { watchWorld } from "../support/watched-world.ts";

const routingKey = "T0PSECRET".padEnd(32, "0");
const bodies = (server: ReceiverServer): readonly unknown[] =>
  server.requests.map(({ body }) => JSON.parse(body));

it("notifies receivers of every type of an error, reminds them and notifies of its end, each in its form", async () => {
  const [chat, pager, tool] = [
    await startReceiverServer(status(200)),
    await startReceiverServer(status(202)),
    await startReceiverServer(status(200)),
  ];
  const common = { group_wait: "0s" };
  const world = await watchWorld({
    alerts: {
      rules: [{ name: "server-error", on: "server", status: "error", remind_every: "10s" }],
      receivers: [
        { ...common, name: "chat", type: "slack", url: chat.url.reveal() },
        {
          name: "pager",
          type: "pagerduty",
          url: `${pager.origin}/T0PSECRET`,
          routing_key: routingKey,
        },
        {
          ...common,
          name: "tool",
          type: "webhook",
          url: tool.url.reveal(),
          format: "alertmanager",
        },
      ],
    },
  });
  await world.poll();
  world.show(0, "error");
  await world.poll(3);
  world.show(0, "idle");
  await world.poll(2);

  const headings = bodies(chat).map((body) => shownBy(slackMessageSchema.parse(body))[0]);
  expect(headings).toEqual([
    "🔴 Firing (critical): server-error",
    "🔴 Still firing (critical): server-error",
    "✅ Resolved (critical): server-error",
  ]);
  const events = bodies(pager).map((body) => pagerdutyEventSchema.parse(body));
  expect(events.map((event) => event.event_action)).toEqual(["trigger", "trigger", "resolve"]);
  expect(new Set(events.map((event) => event.dedup_key)).size).toBe(1);
  const messages = bodies(tool).map((body) => alertmanagerMessageSchema.parse(body));
  expect(messages.map((message) => message.status)).toEqual(["firing", "firing", "resolved"]);

  const said = [
    JSON.stringify(world.log),
    await world.metrics(),
    readFileSync(world.config.store.path, "latin1"),
    ...[chat, tool].flatMap(({ requests }) => requests.map(({ body }) => body)),
  ];
  expect(said.filter((text) => text.includes("T0PSECRET"))).toEqual([]);
});
