import { describe, expect, it } from "vitest";
import { requestTimeoutMs } from "../../src/notify/outbound.ts";
import { lookEveryMs } from "../../src/notify/pipeline.ts";
import type { DeliveryReceiver } from "../../src/notify/pipeline.ts";
import { createSlackReceiver } from "../../src/notify/receivers/slack.ts";
import { Secret } from "../../src/platform/secret.ts";
import { insertOutboxItems } from "../../src/store/outbox.ts";
import { createFakeClock, type FakeClock } from "../support/fake-clock.ts";
import { createDelivery, oneByOne } from "./support/delivery.ts";
import { notificationOf } from "./support/notifications.ts";
import { openOutbound } from "./support/outbound.ts";
import { startReceiverServer, status } from "./support/receiver-server.ts";
import type { Answer, ReceiverServer } from "./support/receiver-server.ts";
import { slackMessageSchema } from "./support/slack-message.ts";
import { openTestStore } from "./support/test-store.ts";
import { fire, resolve } from "./support/told.ts";

const never = new AbortController().signal;

function slackAt(server: ReceiverServer, clock: FakeClock = createFakeClock()): DeliveryReceiver {
  const receiver = createSlackReceiver(
    { name: "oncall", url: server.url },
    { clock, outbound: openOutbound(clock) },
  );
  return { ...oneByOne, receiver };
}

const says =
  (code: number, text: string, headers: Record<string, string> = {}): Answer =>
  (response) =>
    void response.writeHead(code, headers).end(text);

describe("a post to Slack", () => {
  it("is JSON in Block Kit, to the webhook's own address", async () => {
    const server = await startReceiverServer(says(200, "ok"));
    const result = await slackAt(server).receiver.send(notificationOf(), never);
    expect(result).toEqual({ kind: "delivered" });
    const [request] = server.requests;
    expect(request?.headers["content-type"]).toBe("application/json; charset=utf-8");
    expect(request?.path).toBe("/hook/T0PSECRET?token=T0PSECRET");
    expect(() => slackMessageSchema.parse(JSON.parse(request?.body ?? ""))).not.toThrow();
  });

  it.each([
    [400, "invalid_payload", "rejected"],
    [400, "invalid_blocks", "rejected"],
    [403, "action_prohibited", "rejected"],
    [403, "invalid_token", "gone"],
    [404, "no_service", "gone"],
    [404, "no_team", "gone"],
    [404, "channel_not_found", "gone"],
    [410, "channel_is_archived", "gone"],
    [429, "rate_limited", "rate_limited"],
    [500, "rollup_error", "server_error"],
    [200, "channel_is_archived", "gone"],
  ])("answered %i %s failed as %s", async (code, word, reason) => {
    const server = await startReceiverServer(says(code, `${word}\n`));
    const result = await slackAt(server).receiver.send(notificationOf(), never);
    const detail = `HTTP ${code} ${word}`;
    expect(result).toEqual({ kind: "failed", reason, detail, retryAfterMs: null });
  });

  it("says nothing of an answer that Slack does not give", async () => {
    const server = await startReceiverServer(says(403, "<html>T0PSECRET</html>"));
    const result = await slackAt(server).receiver.send(notificationOf(), never);
    expect(result).toMatchObject({ reason: "rejected", detail: "HTTP 403" });
  });

  it("says without its address that the address cannot be used", () => {
    const build = (): unknown =>
      createSlackReceiver(
        { name: "oncall", url: new Secret("T0PSECRET") },
        { clock: createFakeClock(), outbound: openOutbound(createFakeClock()) },
      );
    expect(build).toThrow("The url of receiver oncall is no http or https address.");
  });
});

describe("delivery to Slack", () => {
  it("sends one message a second, in the order of what happened", async () => {
    const server = await startReceiverServer(says(200, "ok"));
    const store = openTestStore();
    const { loop, clock } = createDelivery(store.outbox, (c) => [slackAt(server, c)]);
    await insertOutboxItems(store.kysely, [fire("a"), fire("b"), resolve("a"), fire("c")]);
    loop.start();
    await loop.runOnce();
    for (const sent of [1, 2, 3]) {
      expect(server.requests).toHaveLength(sent);
      clock.advance(999);
      await loop.runOnce();
      expect(server.requests).toHaveLength(sent);
      clock.advance(1);
      await loop.runOnce();
    }
    await loop.stop({ graceMs: 0 });
    const headings = server.requests.map(
      ({ body }) => /"text":"(..? [A-Z]\w+) \(/u.exec(body)?.[1],
    );
    expect(headings).toEqual(["🔴 Firing", "🔴 Firing", "✅ Resolved", "🔴 Firing"]);
    expect(server.mostOpen).toBe(1);
    expect(clock.armed).toBe(0);
  });

  it("sleeps until Slack may be asked again", async () => {
    const server = await startReceiverServer(says(200, "ok"));
    const store = openTestStore();
    const clock = createFakeClock();
    const setTimer = clock.setTimer.bind(clock);
    const delays: number[] = [];
    clock.setTimer = (delayMs, callback) => {
      delays.push(delayMs);
      return setTimer(delayMs, callback);
    };
    const { loop } = createDelivery(store.outbox, () => [slackAt(server, clock)], clock);
    await insertOutboxItems(store.kysely, [fire("a"), fire("b")]);
    loop.start();
    await loop.runOnce();
    const usual: readonly number[] = [requestTimeoutMs, lookEveryMs];
    expect(delays.filter((delayMs) => !usual.includes(delayMs))).toEqual([1_000]);
    await loop.stop({ graceMs: 0 });
  });

  it("leaves Slack alone with all messages for as long as it asks", async () => {
    const server = await startReceiverServer(says(429, "rate_limited", { "retry-after": "30" }));
    const store = openTestStore();
    const { loop, clock, observed } = createDelivery(store.outbox, (c) => [slackAt(server, c)]);
    await insertOutboxItems(store.kysely, [fire("a"), fire("b")]);
    loop.start();
    await loop.runOnce();
    expect(observed).toEqual(["failed oncall rate_limited"]);
    server.answerWith(says(200, "ok"));
    clock.advance(29_999);
    await loop.runOnce();
    expect(server.requests).toHaveLength(1);
    clock.advance(1);
    await loop.runOnce();
    clock.advance(1_000);
    await loop.runOnce();
    expect(await store.states()).toEqual(["delivered", "delivered"]);
    await loop.stop({ graceMs: 0 });
  });

  it("gives a message up at once when the webhook is gone, and logs no address", async () => {
    const server = await startReceiverServer(says(404, "no_service"));
    const store = openTestStore();
    const { loop, observed } = createDelivery(store.outbox, (c) => [slackAt(server, c)]);
    await insertOutboxItems(store.kysely, [fire("a")]);
    await loop.runOnce();
    expect(observed).toEqual(["failed oncall gone", "dead oncall gone"]);
  });

  it("does not hold back other receivers", async () => {
    const [slack, other] = [await startReceiverServer(), await startReceiverServer(status(204))];
    const store = openTestStore();
    const { loop } = createDelivery(store.outbox, (clock) => {
      const free = createSlackReceiver(
        { name: "other", url: other.url },
        { clock, outbound: openOutbound(clock) },
      );
      const { restMs: _, ...unpaced } = free;
      return [slackAt(slack, clock), { ...oneByOne, receiver: unpaced }];
    });
    const items = [fire("a"), fire("b"), fire("c")];
    await insertOutboxItems(store.kysely, [
      ...items,
      ...items.map((item) => ({ ...item, receiver: "other" })),
    ]);
    await loop.runOnce();
    expect(slack.requests).toHaveLength(1);
    expect(other.requests).toHaveLength(3);
  });
});
