import { describe, expect, it } from "vitest";
import { alertmanagerMessageSchema } from "../notify/support/alertmanager-message.ts";
import { pagerdutyEventSchema } from "../notify/support/pagerduty-event.ts";
import { shownBy, slackMessageSchema } from "../notify/support/slack-message.ts";
import { startReceiverServer, status } from "../notify/support/receiver-server.ts";
import type { ReceiverServer } from "../notify/support/receiver-server.ts";
import { notifications } from "../support/heard.ts";
import { watchWorld } from "../support/watched-world.ts";
import type { WatchedWorld } from "../support/watched-world.ts";
import { webhookSecret } from "../support/webhook-peer.ts";

const server = { name: "err", on: "server", status: "error" };

/** Receivers of every type, each at a service of its own. */
async function startReceivers() {
  const [hook, chat, pager, tool] = [
    await startReceiverServer(status(200)),
    await startReceiverServer(status(200)),
    await startReceiverServer(status(202)),
    await startReceiverServer(status(200)),
  ];
  const at = ({ origin }: ReceiverServer) => ({ group_wait: "0s", url: `${origin}/T0PSECRET` });
  const routing_key = "T0PSECRET".padEnd(32, "0");
  const settings = [
    { name: "hook", type: "webhook", ...at(hook) },
    { name: "chat", type: "slack", ...at(chat) },
    { name: "pager", type: "pagerduty", routing_key, url: at(pager).url },
    { name: "tool", type: "webhook", format: "alertmanager", ...at(tool) },
  ];
  return { hook, chat, pager, tool, settings };
}

const bodies = ({ requests }: ReceiverServer): readonly unknown[] =>
  requests.map(({ body }) => JSON.parse(body));

it("receivers of every type are notified of an error, reminded, and notified of its end, each in its form", async () => {
  const { chat, pager, tool, settings } = await startReceivers();
  const rules = [{ ...server, remind_every: "10s" }];
  const world = await watchWorld({ alerts: { rules, receivers: settings } });
  await world.poll();
  world.show(0, "error");
  await world.poll(3);
  world.show(0, "idle");
  await world.poll(2);

  const headings = bodies(chat).map((body) => shownBy(slackMessageSchema.parse(body))[0]);
  expect(headings).toEqual([
    "🔴 Firing (critical): err",
    "🔴 Still firing (critical): err",
    "✅ Resolved (critical): err",
  ]);
  const sent = bodies(pager).map((body) => pagerdutyEventSchema.parse(body));
  expect(sent.map((event) => event.event_action)).toEqual(["trigger", "trigger", "resolve"]);
  expect(new Set(sent.map((event) => event.dedup_key)).size).toBe(1);
  const messages = bodies(tool).map((body) => alertmanagerMessageSchema.parse(body));
  expect(messages.map((message) => message.status)).toEqual(["firing", "firing", "resolved"]);
});

it("messages of every type link to pages that there are", async () => {
  const { hook, chat, pager, tool, settings } = await startReceivers();
  const external_url = "https://ops.example.com/sandwatch";
  const alerts = { rules: [server], receivers: settings };
  const world = await watchWorld({ alerts, http: { external_url } });
  for (const index of world.serverIds.keys()) world.show(index, "error");
  await world.poll(2);
  const address = await world.address();
  for (const { requests } of [hook, chat, pager, tool]) {
    const found = requests.flatMap(({ body }) => body.match(/https:\/\/ops[^"|>]*/g) ?? []);
    const pages = new Set(found.map((link) => link.replaceAll("&amp;", "&")));
    expect(pages.size).toBeGreaterThan(0);
    for (const link of pages) {
      const { status: code } = await fetch(link.replace(external_url, address));
      expect([link, code]).toEqual([link, 200]);
    }
  }
});

describe("a receiver that is not configured when an incident ends", () => {
  /** A world with receivers of every type beside `oncall`, which may be absent. */
  async function start(rules: readonly object[] = [server]) {
    const { settings, ...servers } = await startReceivers();
    const world = await watchWorld({
      probes: [{ name: "list", operation: "universes", every: "5s" }],
    });
    const oncall = { type: "webhook", url: world.peer.url, secret: webhookSecret };
    const restart = (others: readonly object[], changed = rules): Promise<void> =>
      world.restart({
        alerts: {
          rules: changed,
          receivers: [{ name: "oncall", group_wait: "0s", ...oncall }, ...others],
        },
      });
    await restart(settings);
    /** Which step of an incident each body that a receiver was sent reports. */
    const sent = () =>
      Object.values(servers).map(({ requests }) =>
        requests
          .map(({ body }) => (/incident\.resolved|"resolved?"|Resolved \(/.test(body) ? "-" : "+"))
          .join(""),
      );
    return { world, sent, restart, settings };
  }

  it("is notified of that once when it returns, whatever its type", async () => {
    const { world, sent, restart, settings } = await start();
    world.show(0, "error");
    await world.poll();
    await restart([]);
    world.show(0, "idle");
    await world.poll(2);
    expect(sent()).toEqual(["+", "+", "+", "+"]);
    for (let times = 0; times < 2; times += 1) {
      await restart(settings);
      await world.poll(2);
    }
    expect(sent()).toEqual(["+-", "+-", "+-", "+-"]);
    expect(notifications(world)).toEqual(["err firing", "err resolved"]);
  });

  type Step = (world: WatchedWorld) => void;
  it.each<[string, object, Step, Step]>([
    [
      "a target",
      { name: "down", on: "target", failing: { polls: 1 } },
      (world) => world.fail({ kind: "status", status: 500 }),
      (world) => world.fail(),
    ],
    [
      "a pool",
      { name: "full", on: "pool", by: ["region"], idle: { below: 3 } },
      (world) => world.show(0, "occupied"),
      (world) => world.show(0, "idle"),
    ],
    [
      "a probe",
      { name: "probe", on: "probe", failing: { polls: 1 } },
      (world) => world.fail({ kind: "status", status: 404, operation: "list_universes" }),
      (world) => world.fail(),
    ],
  ])("is notified of an incident of %s as well", async (_, rule, begin, end) => {
    const { world, sent, restart, settings } = await start([rule]);
    begin(world);
    await world.poll();
    await restart([]);
    end(world);
    await world.poll(3);
    await restart(settings);
    await world.poll(2);
    expect(sent()).toEqual(["+-", "+-", "+-", "+-"]);
  });
});
