import { describe, expect, it } from "vitest";
import { createWebhookReceiver } from "../../src/notify/receivers/webhook.ts";
import { oneByOne, openDelivery, plainWebhook } from "./support/delivery.ts";
import { fire, outboxItem, resolve } from "./support/items.ts";
import { openOutbound } from "./support/outbound.ts";
import { startReceiverServer, status } from "./support/receiver-server.ts";

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
  const sent = (): readonly string[] =>
    server.requests.map(({ body }) => {
      const { type, data }: Message = JSON.parse(body);
      return `${type.replace("incident.", "")} ${data.incidents.map(({ id }) => id).join()}`;
    });
  return { ...delivery, server, sent };
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
