import { setImmediate } from "node:timers/promises";
import { describe, expect, it, onTestFinished } from "vitest";
import { createHeartbeatReceiver } from "../../src/notify/receivers/heartbeat.ts";
import { createFakeClock } from "../support/fake-clock.ts";
import { keepLog } from "./support/delivery.ts";
import { openOutbound } from "./support/outbound.ts";
import { hang, startReceiverServer, status, type Answer } from "./support/receiver-server.ts";

const everyMs = 60_000;

async function open(answer: Answer = status(200), method: "GET" | "POST" = "GET") {
  const server = await startReceiverServer(answer);
  const clock = createFakeClock();
  const events: string[] = [];
  const health = { problem: (): Promise<string | null> => Promise.resolve(null), asked: 0 };
  const receiver = createHeartbeatReceiver(
    { name: "watchdog", url: server.url, everyMs, method, headers: new Map() },
    {
      clock,
      outbound: openOutbound(clock),
      healthProblem() {
        health.asked += 1;
        return health.problem();
      },
      log: keepLog((event) => events.push(event)),
      observe: { attemptFailed: (name, reason) => void events.push(`${name} ${reason}`) },
    },
  );
  onTestFinished(() => receiver.close?.());
  receiver.start?.();
  /** Lets time pass until this many events were noted, and no request is under way. */
  const noted = async (count: number, ms = everyMs): Promise<void> => {
    clock.advance(ms);
    do await setImmediate();
    while (events.length < count || clock.armed > 1);
  };
  return { server, receiver, clock, events, health, noted };
}

describe("a heartbeat", () => {
  it.each(["GET", "POST"] as const)("is a %s, first after its interval", async (method) => {
    const { server, clock, health } = await open(status(200), method);
    clock.advance(everyMs - 1);
    expect(health.asked).toBe(0);
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
    const { server, events, health, noted } = await open();
    health.problem = () => Promise.resolve("no receiver accepts notifications");
    await noted(1);
    health.problem = () => Promise.reject(new Error("broken"));
    await noted(1);
    expect(server.requests).toEqual([]);
    health.problem = () => Promise.resolve(null);
    await noted(2);
    await server.received(1);
    expect(events).toEqual(["heartbeat.withheld", "heartbeat.resumed"]);
  });

  it("that fails is counted each time and logged once, and the next is sent when due", async () => {
    const { server, events, noted } = await open(status(500));
    await noted(2);
    await noted(3);
    server.answerWith(status(200));
    await noted(4);
    const failed = "watchdog server_error";
    expect(events).toEqual([failed, "heartbeat.failed", failed, "heartbeat.recovered"]);
  });

  it("that hangs ends after 15 seconds, or when the receiver is closed", async () => {
    const { server, receiver, clock, events, noted } = await open(hang);
    clock.advance(everyMs);
    await server.received(1);
    await noted(2, 15_000);
    clock.advance(everyMs);
    await server.received(2);
    await receiver.close?.();
    expect([clock.armed, events]).toEqual([0, ["watchdog timeout", "heartbeat.failed"]]);
  });
});
