import { setImmediate } from "node:timers/promises";
import { describe, expect, it, onTestFinished } from "vitest";
import { createHeartbeatReceiver } from "../../src/notify/receivers/heartbeat.ts";
import { createFakeClock } from "../support/fake-clock.ts";
import { openOutbound } from "./support/outbound.ts";
import { hang, startReceiverServer, status } from "./support/receiver-server.ts";
import type { ReceiverServer } from "./support/receiver-server.ts";

const everyMs = 60_000;

function open(server: ReceiverServer, method: "GET" | "POST" = "GET") {
  const clock = createFakeClock();
  const events: string[] = [];
  const news = new EventTarget();
  const note = (line: string): void => {
    events.push(line);
    news.dispatchEvent(new Event("news"));
  };
  const write = (fields: Readonly<Record<string, string | number>>, message: string): void => {
    if (`${JSON.stringify(fields)}${message}`.includes("T0PSECRET")) throw new Error("a secret!");
    note(`${fields["event"]}`);
  };
  let problem: () => Promise<string | null> = () => Promise.resolve(null);
  const receiver = createHeartbeatReceiver(
    { name: "watchdog", url: server.url, everyMs, method },
    {
      clock,
      outbound: openOutbound(clock),
      healthProblem: () => problem(),
      log: { info: write, warn: write, error: write },
      observe: { attemptFailed: (name, reason) => note(`${name} ${reason}`) },
    },
  );
  onTestFinished(() => receiver.close?.());
  receiver.start?.();
  return {
    receiver,
    clock,
    events,
    setProblem: (next: () => Promise<string | null>) => void (problem = next),
    noted: async (count: number): Promise<void> => {
      while (events.length < count) {
        await new Promise((resolve) => news.addEventListener("news", resolve, { once: true }));
      }
      await setImmediate();
    },
  };
}

describe("a heartbeat", () => {
  it.each(["GET", "POST"] as const)("is a %s, first after its interval", async (method) => {
    const server = await startReceiverServer(status(200));
    const { clock, setProblem } = open(server, method);
    let asked = 0;
    setProblem(() => Promise.resolve(((asked += 1), null)));
    clock.advance(everyMs - 1);
    expect(asked).toBe(0);
    clock.advance(1);
    await server.received(1);
    expect(server.requests[0]).toMatchObject({
      method,
      path: "/hook/T0PSECRET?token=T0PSECRET",
      headers: { "user-agent": "sandwatch/test" },
      body: "",
    });
  });

  it("is withheld while sandwatch is unhealthy; that and its end are logged once", async () => {
    const server = await startReceiverServer(status(200));
    const { clock, events, setProblem, noted } = open(server);
    setProblem(() => Promise.resolve("no receiver accepts notifications"));
    clock.advance(everyMs);
    await noted(1);
    setProblem(() => Promise.reject(new Error("broken")));
    clock.advance(everyMs);
    await setImmediate();
    expect(server.requests).toEqual([]);
    setProblem(() => Promise.resolve(null));
    clock.advance(everyMs);
    await server.received(1);
    expect(events).toEqual(["heartbeat.withheld", "heartbeat.resumed"]);
    // The time-out of a ping is cancelled when the ping has ended.
    while (clock.armed > 1) await setImmediate();
    setProblem(() => Promise.resolve("the last polls of all targets failed"));
    clock.advance(everyMs);
    await noted(3);
    expect(events.slice(2)).toEqual(["heartbeat.withheld"]);
  });

  it("that fails is counted each time and logged once, and the next is sent when due", async () => {
    const server = await startReceiverServer(status(500));
    const { clock, events, noted } = open(server);
    for (const count of [2, 3]) {
      clock.advance(everyMs);
      await noted(count);
    }
    server.answerWith(status(200));
    clock.advance(everyMs);
    await noted(4);
    const failed = "watchdog server_error";
    expect(events).toEqual([failed, "heartbeat.failed", failed, "heartbeat.recovered"]);
  });

  it("that hangs ends after 15 seconds", async () => {
    const server = await startReceiverServer(hang);
    const { clock, events, noted } = open(server);
    clock.advance(everyMs);
    await server.received(1);
    clock.advance(15_000);
    await noted(2);
    expect(events).toEqual(["watchdog timeout", "heartbeat.failed"]);
  });

  it("is cut short when it is closed, without a timer or a failure", async () => {
    const server = await startReceiverServer(hang);
    const { receiver, clock, events } = open(server);
    clock.advance(everyMs);
    await server.received(1);
    await receiver.close?.();
    expect(clock.armed).toBe(0);
    expect(events).toEqual([]);
  });
});
