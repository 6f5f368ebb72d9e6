import { describe, expect, it } from "vitest";
import { createWebhookReceiver } from "../../src/notify/receivers/webhook.ts";
import { oneByOne, openDelivery, plainWebhook } from "./support/delivery.ts";
import { fire, outboxItem, resolve } from "./support/items.ts";
import { openOutbound } from "./support/outbound.ts";
import { startReceiverServer, status, type ReceiverServer } from "./support/receiver-server.ts";

const restMs = 60_000;

interface Message {
  readonly type: string;
  readonly data: { readonly incidents: readonly { readonly id: string }[] };
}

/** Delivery to a receiver that takes one message a minute. */
async function openSlow(settings: Partial<typeof oneByOne> = {}) {
  const server = await startReceiverServer();
  const delivery = openDelivery((clock) => {
    const deps = { clock, outbound: openOutbound(clock) };
    const webhook = createWebhookReceiver(
      { ...plainWebhook, name: "oncall", url: server.url },
      deps,
    );
    return [{ ...oneByOne, ...settings, receiver: { ...webhook, restMs } }];
  });
  return { ...delivery, server, sent: () => sentBy(server) };
}

const sentBy = ({ requests }: ReceiverServer): readonly string[] =>
  requests.map(({ body }) => {
    const { type, data }: Message = JSON.parse(body);
    return `${type.replace("incident.", "")} ${data.incidents.map(({ id }) => id).join()}`;
  });

/** Delivery to a webhook without a pause between messages. */
async function openQuick(settings: Partial<typeof oneByOne> = {}) {
  const server = await startReceiverServer();
  const delivery = openDelivery(server, { settings });
  return { ...delivery, server, sent: () => sentBy(server) };
}

const remind = (id: string) =>
  outboxItem({ type: "incident.reminder", incident: { id, sandboxId: id } });

describe("what waits for a slow receiver", () => {
  it("is composed when it can be sent, and a reminder that is out of date is not sent", async () => {
    const { pass, insert, sent, store } = await openSlow();
    await insert(fire("a"), fire("b"), fire("c"));
    await pass(0);
    expect([sent(), await store.states()]).toEqual([["firing a"], ["delivered"]]);
    await insert(remind("b"), remind("c"), remind("b"));
    await pass(restMs);
    await insert(resolve("b"), remind("c"));
    for (let minute = 0; minute < 10; minute += 1) await pass(restMs);
    expect(sent()).toEqual(["firing a", "firing b", "firing c", "resolved b", "reminder c"]);
    const open = await store.outbox.openItems("oncall", 10);
    expect([open, new Set(await store.states())]).toEqual([[], new Set(["delivered"])]);
  });

  it("becomes one message with what joined its group meanwhile", async () => {
    const { pass, insert, sent } = await openSlow({ groupBy: ["rule", "incident"], groupLimit: 3 });
    await insert(fire("a"));
    await pass(0);
    for (const id of ["b", "c", "d", "e", "f"]) await insert(fire(id));
    await insert(resolve("c"));
    for (let minute = 0; minute < 10; minute += 1) await pass(restMs);
    expect(sent()).toEqual(["firing a", "firing b,c,d,e,f", "resolved c"]);
  });

  it("keeps its id and text once it was tried, and comes before what is later", async () => {
    const { pass, insert, sent, server } = await openSlow();
    server.answerWith(status(503));
    await insert(remind("a"));
    await pass(0);
    await insert(remind("a"), resolve("a"));
    for (let minute = 0; minute < 3; minute += 1) await pass(600_000);
    server.answerWith(status(204));
    for (let minute = 0; minute < 3; minute += 1) await pass(600_000);
    const tried = sent().length - 1;
    expect(sent()).toEqual([...Array<string>(tried).fill("reminder a"), "resolved a"]);
    const ids = server.requests.map(({ headers }) => headers["webhook-id"]);
    expect(new Set(ids.slice(0, tried)).size).toBe(1);
  });
});

describe("what waits for a receiver that was away", () => {
  it("is replaced by how things are now, but for what was tried", async () => {
    const { pass, insert, sent, server } = await openQuick();
    server.answerWith(status(503));
    await insert(fire("a"), fire("b"), fire("c"));
    await pass(0);
    for (let hour = 0; hour < 3; hour += 1) {
      await insert(remind("a"), remind("b"), remind("c"));
      await pass(3_600_000);
    }
    await insert(resolve("b"));
    await pass(600_000);
    server.answerWith(status(204));
    const tried = server.requests.length;
    for (let minute = 0; minute < 6; minute += 1) await pass(100_000);
    const after = sent().slice(tried);
    expect(after.slice(0, 3).toSorted()).toEqual(["firing a", "firing b", "firing c"]);
    expect(after.slice(3).toSorted()).toEqual(["reminder a", "reminder c", "resolved b"]);
  });

  it("says how long it has lasted when it is sent, and as one message where groups allow it", async () => {
    const { pass, insert, sent, server } = await openQuick({ groupBy: ["rule"] });
    server.answerWith(status(503));
    await insert(fire("a"), fire("b"));
    await pass(0);
    await insert(remind("a"));
    await pass(3_600_000);
    await insert(remind("b"));
    server.answerWith(status(204));
    const tried = server.requests.length;
    for (let minute = 0; minute < 6; minute += 1) await pass(100_000);
    expect(sent().slice(tried)).toEqual(["firing a,b", "reminder a,b"]);
    expect(server.requests.at(-1)?.body).toMatch(/Still: 2 .* \(1h/);
  });

  it("is sent after a notification that was dead-lettered, and does not hold back other subjects", async () => {
    const { pass, insert, sent, server } = await openQuick({ giveUpAfterMs: 3_600_000 });
    server.answerWith(status(503));
    await insert(fire("a"));
    await pass(0);
    // The first one is not tried again yet.
    server.answerWith(status(204));
    await insert(remind("a"), resolve("a"), fire("b"));
    await pass(0);
    expect(sent()).toEqual(["firing a", "firing b"]);
    server.answerWith(status(503));
    for (let minute = 0; minute < 40; minute += 1) await pass(100_000);
    server.answerWith(status(204));
    for (let minute = 0; minute < 6; minute += 1) await pass(100_000);
    expect(sent().at(-1)).toBe("resolved a");
    expect(sent()).not.toContain("reminder a");
  });

  it("is sent as soon as what it waited for has ended, without a further event", async () => {
    const { clock, notifier, insert, sent, server } = await openQuick();
    server.answerWith(status(503));
    await insert(fire("a"));
    notifier.start();
    await notifier.runOnce();
    await insert(remind("a"), resolve("a"));
    await notifier.runOnce();
    server.answerWith(status(204));
    clock.advance(300_000);
    await server.received(3);
    expect(sent()).toEqual(["firing a", "firing a", "resolved a"]);
    await notifier.stop({ graceMs: 5_000 });
  });
});
