import { describe, expect, it } from "vitest";
import type { Incident } from "../../src/alerts/incident.ts";
import type { Notification, NotifiedIncident } from "../../src/alerts/notification.ts";
import { Secret } from "../../src/lib/secret.ts";
import { failed, type SendResult } from "../../src/notify/receiver.ts";
import { createSlackAppReceiver } from "../../src/notify/receivers/slack-app.ts";
import { createFakeClock } from "../support/fake-clock.ts";
import { incidentOf, startMs } from "./support/items.ts";
import { notificationOf, reportOf, resolvedIncident } from "./support/notifications.ts";
import { firing, openNotifiedStore, resolved } from "./support/notified-store.ts";
import { openOutbound } from "./support/outbound.ts";
import { status, type Answer } from "./support/receiver-server.ts";
import { slackError, startSlackApi } from "./support/slack-api.ts";

const { signal } = new AbortController();

async function open() {
  const slack = await startSlackApi();
  const notified = await openNotifiedStore();
  const clock = createFakeClock(startMs);
  /** As after a restart, or with another setting. */
  const start = (channel = "alerts") => {
    const receiver = createSlackAppReceiver(
      {
        name: "am",
        url: new Secret(`${slack.server.origin}/api`),
        token: new Secret("xoxb-T0PSECRET"),
        channel,
        maxIncidents: 20,
        appToken: null,
      },
      {
        clock,
        outbound: openOutbound(clock),
        notifiedAlerts: notified.store.notified,
        messageThreads: notified.store.messageThreads,
      },
    );
    return (notification: Notification): Promise<SendResult> => receiver.send(notification, signal);
  };
  const incidents = (...of: readonly Incident[]): readonly NotifiedIncident[] =>
    of.map(({ id, resolvedAtMs }) =>
      (resolvedAtMs === null ? incidentOf : resolvedIncident)({ id }),
    );
  const commit = async (...of: readonly Incident[]) => {
    await notified.commit(...of);
    return incidents(...of);
  };
  const send = start();
  return {
    ...slack,
    ...notified,
    start,
    send,
    fire: async (...ids: readonly string[]) =>
      send(notificationOf({ incidents: await commit(...ids.map((id) => firing(id))) })),
    end: async (...ids: readonly string[]) =>
      send(
        notificationOf({
          type: "incident.resolved",
          summary: `Resolved: ${ids.join()}`,
          incidents: await commit(...ids.map((id) => resolved(id, startMs))),
        }),
      ),
    threads: () => notified.store.messageThreads.ofRule("am", "server-error"),
  };
}

const delivered = { kind: "delivered" };
const firingText = (count: number) =>
  `🔴 Firing (critical): server-error | ${count} github server${count === 1 ? "" : "s"} in error in us/research since 09:30 UTC`;
const resolvedText = (ids: string) => `✅ Resolved (critical): server-error | Resolved: ${ids}`;

describe("a Slack app", () => {
  it("posts a report as a message of its own, also where a rule has its name", async () => {
    const { commit, send, shown } = await open();
    await commit(firing("a"));
    await send(notificationOf({ group: {}, incidents: [incidentOf({ id: "a" })] }));
    const report = { ...reportOf(3), rule: "server-error", summary: "busy" };
    expect(await send(report)).toMatchObject(delivered);
    expect(shown()).toEqual([firingText(1), "📊 Report: server-error | busy"]);
  });

  it("posts one message for a group, changes it to what fires, and answers in its thread", async () => {
    const { fire, end, shown, calls, threads } = await open();
    expect(await fire("a")).toEqual(delivered);
    expect(shown()).toEqual([firingText(1)]);
    await fire("b");
    expect(shown()).toEqual([firingText(2), `  ${firingText(1)}`]);
    await end("a");
    expect(shown()).toEqual([firingText(1), `  ${firingText(1)}`, `  ${resolvedText("a")}`]);
    await end("b");
    expect(shown()[0]).toBe(resolvedText("b"));
    expect(calls).toEqual([
      "chat.postMessage",
      ...[2, 3, 4].flatMap(() => ["chat.update", "chat.postMessage in thread"]),
    ]);
    expect(await threads()).toEqual([]);
    await fire("c");
    expect(shown().filter((text) => !text.startsWith(" "))).toEqual([
      resolvedText("b"),
      firingText(1),
    ]);
  });

  it("shows when all that fires is acknowledged", async () => {
    const { fire, send, acknowledge, shown } = await open();
    await fire("a");
    await acknowledge("a", "ann");
    const incidents = [incidentOf({ id: "a", acknowledgedBy: "ann" })];
    await send(notificationOf({ type: "incident.acknowledged", incidents }));
    expect(shown()[0]).toMatch(
      /^👀 Acknowledged \(critical\): server-error \| Acknowledged by ann/,
    );
  });

  it("continues its messages after a restart, but not in another channel", async () => {
    const { fire, start, commit, shown, messages } = await open();
    await fire("a");
    await commit(firing("b"));
    const second = notificationOf({ incidents: [incidentOf({ id: "b" })] });
    expect(await start()(second)).toEqual(delivered);
    expect(shown()).toEqual([firingText(2), `  ${firingText(1)}`]);
    expect(await start("others")(second)).toEqual(delivered);
    expect(messages.get("4.0")).toMatchObject({ channel: "C-others", thread: null });
  });

  it("keeps a message for each group, and ends those that end as one", async () => {
    const { commit, send, shown, threads } = await open();
    for (const id of ["a", "b"]) {
      await commit(firing(id, { subject: serverNamed(id) }));
      const group = { region: "us", server_name: id };
      await send(notificationOf({ incidents: [incidentOf({ id, serverName: id })], group }));
    }
    expect(shown()).toHaveLength(2);
    await commit(...["a", "b"].map((id) => resolved(id, startMs, { subject: serverNamed(id) })));
    const both = ["a", "b"].map((id) => resolvedIncident({ id, serverName: id }));
    const over = { type: "incident.resolved", summary: "Resolved: a,b" } as const;
    await send(notificationOf({ ...over, incidents: both, group: { region: "us" } }));
    expect(shown()).toEqual(Array(3).fill(resolvedText("a,b")));
    expect(await threads()).toEqual([]);
  });

  it("posts again what was deleted in Slack", async () => {
    const { fire, messages, shown } = await open();
    await fire("a");
    messages.clear();
    expect(await fire("b")).toEqual(delivered);
    expect(shown()).toEqual([firingText(1)]);
    await fire("c");
    expect(shown()).toEqual([firingText(3), `  ${firingText(1)}`]);
  });

  it("repeats only what failed: the message is changed before it is answered", async () => {
    const { fire, server, accept, calls } = await open();
    await fire("a");
    const failing: Answer = (response, request, index) =>
      (request.body.includes("thread_ts") ? slackError("internal_error") : accept)(
        response,
        request,
        index,
      );
    server.answerWith(failing);
    expect(await fire("b")).toEqual(failed("server_error", "HTTP 200 internal_error"));
    expect(calls).toEqual(["chat.postMessage", "chat.update"]);
  });

  it("posts tests without a thread", async () => {
    const { send, shown, threads } = await open();
    await send(notificationOf({ type: "test" }));
    expect([shown().length, await threads()]).toEqual([1, []]);
  });

  it.each<[Answer, SendResult]>([
    [slackError("channel_not_found"), failed("gone", "HTTP 200 channel_not_found")],
    [slackError("missing_scope"), failed("gone", "HTTP 200 missing_scope")],
    [slackError("invalid_blocks"), failed("rejected", "HTTP 200 invalid_blocks")],
    [slackError("fatal_error"), failed("server_error", "HTTP 200 fatal_error")],
    [slackError("T0PSECRET"), failed("server_error", "HTTP 200 with an error")],
    [
      slackError("ratelimited", 429, { "retry-after": "30" }),
      failed("rate_limited", "HTTP 429", 30_000),
    ],
    [status(200, {}, "<html>T0PSECRET"), failed("server_error", "HTTP 200 with an error")],
    [status(503), failed("server_error", "HTTP 503")],
  ])("understands an error: %#", async (answer, result) => {
    const { server, fire } = await open();
    server.answerWith(answer);
    expect(await fire("a")).toEqual(result);
  });
});

function serverNamed(id: string) {
  return { kind: "server", sandboxId: "s", serverId: `of-${id}`, serverName: id } as const;
}
