import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { expect, it, onTestFinished } from "vitest";
import { limitReaders } from "../../src/web/slow-readers.ts";
import { createFakeClock } from "../support/fake-clock.ts";
import { until } from "../e2e/support/until.ts";
import { serveWeb } from "./support/serve-web.ts";

it("one host holds at most half of the places, with however many addresses of its network", () => {
  const readers = limitReaders(createFakeClock(), 8, 60_000);
  const cut: number[] = [];
  for (let host = 1; host <= 8; host += 1) {
    const reader = readers.admit({ identity: null, sender: `2001:db8::${host}` });
    if (reader) reader.cutOff = () => cut.push(host);
  }
  const senders = ["192.0.2.1", "::ffff:192.0.2.1", "192.0.2.1", "192.0.2.1", "192.0.2.1"];
  const admitted = senders.map((sender) => readers.admit({ identity: null, sender }));
  expect(admitted.map((reader) => reader !== null)).toEqual([true, true, true, true, false]);
  expect(cut).toEqual([1, 2, 3, 4]);
});

it("of the responses that wait to be read, the oldest is cut off when they are too many bytes", async () => {
  const text = "x".repeat(8 * 2 ** 20);
  const { address, refusals, get } = await serveWeb({
    api: {
      call: () => Promise.resolve({ text }),
      events: () => Promise.reject(new Error("not called")),
    },
    mostWaitingBytes: 30 * 2 ** 20,
  });
  const readers: Socket[] = [];
  for (let count = 0; count < 3; count += 1) {
    const socket = connect(Number(new URL(address).port), "127.0.0.1");
    onTestFinished(() => void socket.destroy());
    socket.on("error", () => {});
    readers.push(socket);
    socket.write("GET /api/v1/targets HTTP/1.1\r\nhost: localhost\r\n\r\n");
    await once(socket, "readable");
  }
  // Who reads is answered.
  expect((await get("/api/v1/targets")).text.length).toBeGreaterThan(text.length);
  expect(refusals).toEqual([{ reason: "slow_reader", address: "127.0.0.1" }]);
  const [first, ...others] = readers;
  for (const reader of readers) reader.resume();
  await new Promise((resolve) => void first?.once("close", resolve));
  expect(first?.bytesRead).toBeLessThan(text.length);
  for (const reader of others) await until("read", async () => reader.bytesRead > text.length);
});

it("a response that was made after its client had left does not count", async () => {
  let answers = 0;
  const left = Promise.withResolvers<void>();
  const asked = Promise.withResolvers<void>();
  const text = "x".repeat(8 * 2 ** 20);
  const { address, refusals, get } = await serveWeb({
    api: {
      call: async () => {
        answers += 1;
        if (answers === 4) asked.resolve();
        if (answers <= 4) await left.promise;
        return { text };
      },
      events: () => Promise.reject(new Error("not called")),
    },
    mostWaitingBytes: 30 * 2 ** 20,
  });
  const closed = Array.from({ length: 4 }, () => {
    const socket = connect(Number(new URL(address).port), "127.0.0.1");
    socket.on("error", () => {});
    socket.write("GET /api/v1/targets HTTP/1.1\r\nhost: localhost\r\n\r\n");
    return socket;
  });
  await asked.promise;
  for (const socket of closed) socket.resetAndDestroy();
  await get("/-/healthy");
  left.resolve();
  expect((await get("/api/v1/targets")).status).toBe(200);
  expect(refusals).toEqual([]);
});
