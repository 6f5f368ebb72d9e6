import { describe, expect, it } from "vitest";
import { startPagerduty } from "../notify/support/pagerduty.ts";
import { startReceiverServer, status } from "../notify/support/receiver-server.ts";
import type { Answer } from "../notify/support/receiver-server.ts";
import { shownBy, slackMessageSchema } from "../notify/support/slack-message.ts";
import { watchWorld, type WorldOptions } from "../support/watched-world.ts";
import { startWebhookPeer, webhookSecret, type Alert } from "../support/webhook-peer.ts";

const unavailable = status(503);

/** The daemon with its default rules, and a receiver of each type with its default settings. */
async function watch(options: WorldOptions) {
  const { server: pagerServer, events, state, accept } = await startPagerduty();
  const messages: (readonly string[])[] = [];
  const acceptMessage: Answer = (response, request, index) => {
    messages.push(shownBy(slackMessageSchema.parse(JSON.parse(request.body))));
    status(200, {}, "ok")(response, request, index);
  };
  const chatServer = await startReceiverServer(acceptMessage);
  const hook = await startWebhookPeer();
  let read = 0;
  const receivers = [
    { name: "chat", type: "slack", url: `${chatServer.origin}/chat` },
    {
      name: "pager",
      type: "pagerduty",
      url: `${pagerServer.origin}/v2/enqueue`,
      routing_key: "T0PSECRET".padEnd(32, "0"),
    },
    { name: "hook", type: "webhook", url: hook.url, secret: webhookSecret },
  ];
  const world = await watchWorld({ ...options, alerts: { receivers } });
  await world.poll();
  return {
    world,
    state,
    answer: (isUp: boolean): void => {
      chatServer.answerWith(isUp ? acceptMessage : unavailable);
      pagerServer.answerWith(isUp ? accept : unavailable);
      hook.answer(isUp ? 204 : 503);
    },
    showAll: (shown: string, from = 0, to = world.serverIds.length): void => {
      for (let server = from; server < to; server += 1) world.show(server, shown);
    },
    /** What each receiver accepted since this was last called, with how many incidents each message is about. */
    sent: () => ({
      chat: messages.splice(0).map(chatText),
      pager: events
        .splice(0)
        .map(({ event_action, payload }) => `${event_action} ${payload.custom_details.count}`),
      hook: hook.alerts.slice(read, (read = hook.alerts.length)).map(hookText),
    }),
    summaries: () => hook.alerts.map(({ data }) => data.summary),
  };
}

/** Such as "Firing 60": the incidents that it lists, and those that it counts. */
function chatText(shown: readonly string[]): string {
  const text = shown.join("\n");
  const [, title = ""] = /^\S+ ([\w ]+?) \(/.exec(text) ?? [];
  const [, more = "0"] = /^… and (\d+) more$/m.exec(text) ?? [];
  return `${title} ${text.split("\n• ").length - 1 + Number(more)}`;
}

function hookText({ type, data }: Alert): string {
  return `${type} ${data.incidents.length + data.truncated}`;
}

const firing = (count: number) => ({
  chat: [`Firing ${count}`],
  pager: [`trigger ${count}`],
  hook: [`incident.firing ${count}`],
});
const resolved = (count: number) => ({
  chat: [`Resolved ${count}`],
  pager: [`resolve ${count}`],
  hook: [`incident.resolved ${count}`],
});

describe("one cause is one notification to each receiver", () => {
  it("1,500 servers that fail and recover at once", async () => {
    const servers = 1_500;
    const { world, showAll, sent, summaries } = await watch({ servers });
    showAll("error");
    await world.poll(4);
    expect(sent()).toEqual(firing(servers));
    expect(summaries()[0]).toMatch(
      `${servers.toLocaleString("en")} of ${servers.toLocaleString("en")} servers in error in us/research since 09:30 UTC: `,
    );
    showAll("idle");
    await world.poll(4);
    expect(sent()).toEqual(resolved(servers));
  });

  it("a key that is refused in two regions", async () => {
    const { world, sent, summaries } = await watch({
      regions: ["eu", "us"],
      keys: ["research", "batch"],
    });
    world.fail({ kind: "status", status: 401, key: "batch" });
    await world.poll(8);
    expect(sent()).toEqual(firing(2));
    expect(summaries()).toEqual([
      "2 targets refused by the service in 2 regions (batch) since 09:30 UTC " +
        "(HTTP 401, 3 polls in a row): eu, us; 6 servers unmonitored",
    ]);
    world.fail();
    await world.poll(16);
    expect(sent()).toEqual(resolved(2));
  });
});

describe("receivers that are down meanwhile", () => {
  /** Until the retries of a minute's outage are sent. */
  const retried = 16;

  it("are notified of what still fires and of what recovered", async () => {
    const { world, showAll, answer, sent, state, summaries } = await watch({ servers: 60 });
    answer(false);
    showAll("error");
    await world.poll(2);
    showAll("idle", 0, 20);
    await world.poll(4);
    answer(true);
    await world.poll(retried);
    expect(sent()).toEqual({
      chat: ["Firing 60", "Partly resolved 20"],
      // It states what fires now; the alert ends with the last incident.
      pager: ["trigger 40"],
      hook: ["incident.firing 60", "incident.resolved 20"],
    });
    expect(summaries().at(-1)).toMatch(/ 20 servers in error .*; 40 still firing$/);
    showAll("idle");
    await world.poll(4);
    expect(summaries().at(-1)).toMatch(/ 40 servers in error .* others$/);
    expect(sent()).toEqual(resolved(40));
    expect([state.opened, state.open.size]).toEqual([1, 0]);
  });

  it("are notified of an end that they missed", async () => {
    const { world, showAll, answer, sent, state } = await watch({ servers: 60 });
    showAll("error");
    await world.poll(4);
    expect(sent()).toEqual(firing(60));
    answer(false);
    showAll("idle");
    await world.poll(6);
    expect(state.open.size).toBe(1);
    answer(true);
    await world.poll(retried);
    expect(sent()).toEqual(resolved(60));
    expect(state.open.size).toBe(0);
  });

  it("page nobody for what began and ended in that time", async () => {
    const { world, showAll, answer, sent, state } = await watch({ servers: 60 });
    answer(false);
    showAll("error");
    await world.poll(2);
    showAll("idle");
    await world.poll(4);
    answer(true);
    await world.poll(retried);
    expect(sent()).toMatchObject({
      chat: ["Firing 60", "Resolved 60"],
      hook: ["incident.firing 60", "incident.resolved 60"],
    });
    expect([state.opened, state.open.size]).toEqual([0, 0]);
  });
});
