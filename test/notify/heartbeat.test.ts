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
  const news: string[] = [];
  const waiting = new EventTarget();
  const tell = (line: string): void => {
    news.push(line);
    waiting.dispatchEvent(new Event("news"));
  };
  const write = (fields: Readonly<Record<string, string | number>>, message: string): void => {
    if (`${JSON.stringify(fields)}${message}`.includes("T0PSECRET")) throw new Error("a secret!");
    tell(`${fields["event"]}`);
  };
  let ailment: () => Promise<string | null> = () => Promise.resolve(null);
  const receiver = createHeartbeatReceiver(
    { name: "watchdog", url: server.url, everyMs, method },
    {
      clock,
      outbound: openOutbound(clock),
      ailment: () => ailment(),
      log: { info: write, warn: write, error: write },
      observe: { attemptFailed: (name, reason) => tell(`${name} ${reason}`) },
    },
  );
  onTestFinished(() => receiver.close?.());
  return {
    receiver,
    clock,
    news,
    ail: (next: () => Promise<string | null>) => void (ailment = next),
    told: async (count: number): Promise<void> => {
      while (news.length < count) {
        await new Promise((resolve) => waiting.addEventListener("news", resolve, { once: true }));
      }
      await setImmediate();
    },
  };
}

describe("a heartbeat", () => {
  it.each(["GET", "POST"] as const)(
    "pings by %s, first when its time has passed",
    async (method) => {
      const server = await startReceiverServer(status(200));
      const { receiver, clock, ail } = open(server, method);
      const startedMs = clock.now().monotonicMs;
      const afterMs: number[] = [];
      ail(() => {
        afterMs.push(clock.now().monotonicMs - startedMs);
        return Promise.resolve(null);
      });
      receiver.start?.();
      clock.advance(everyMs);
      expect(afterMs).toEqual([everyMs]);
      await server.received(1);
      expect(server.requests[0]).toMatchObject({
        method,
        path: "/hook/T0PSECRET?token=T0PSECRET",
        headers: { "user-agent": "sandwatch/test" },
        body: "",
      });
    },
  );

  it("is withheld while sandwatch is not well, which is logged once, and so is its end", async () => {
    const server = await startReceiverServer(status(200));
    const { receiver, clock, news, ail, told } = open(server);
    receiver.start?.();
    ail(() => Promise.resolve("no receiver takes notifications"));
    clock.advance(everyMs);
    await told(1);
    ail(() => Promise.reject(new Error("broken")));
    clock.advance(everyMs);
    await setImmediate();
    expect(server.requests).toEqual([]);
    ail(() => Promise.resolve(null));
    clock.advance(everyMs);
    await server.received(1);
    expect(news).toEqual(["heartbeat.withheld", "heartbeat.resumed"]);
    // The time-out of a ping is taken back when it has ended.
    while (clock.armed > 1) await setImmediate();
    ail(() => Promise.resolve("the last polls of all targets failed"));
    clock.advance(everyMs);
    await told(3);
    expect(news.slice(2)).toEqual(["heartbeat.withheld"]);
  });

  it("that is not taken is counted each time and logged once, and the next is sent when due", async () => {
    const server = await startReceiverServer(status(500));
    const { receiver, clock, news, told } = open(server);
    receiver.start?.();
    clock.advance(everyMs);
    await told(2);
    clock.advance(everyMs);
    await told(3);
    server.answerWith(status(200));
    clock.advance(everyMs);
    await told(4);
    expect(news).toEqual([
      "watchdog server_error",
      "heartbeat.failed",
      "watchdog server_error",
      "heartbeat.recovered",
    ]);
  });

  it("that hangs ends after 15 seconds", async () => {
    const server = await startReceiverServer(hang);
    const { receiver, clock, news, told } = open(server);
    receiver.start?.();
    clock.advance(everyMs);
    await server.received(1);
    clock.advance(15_000);
    await told(2);
    expect(news).toEqual(["watchdog timeout", "heartbeat.failed"]);
  });

  it("leaves no timer when it is closed, and counts no failure for that", async () => {
    const server = await startReceiverServer(hang);
    const { receiver, clock, news } = open(server);
    receiver.start?.();
    clock.advance(everyMs);
    await server.received(1);
    await receiver.close?.();
    expect(clock.armed).toBe(0);
    expect(news).toEqual([]);
  });
});
