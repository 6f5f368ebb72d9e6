import { connect, type Socket } from "node:net";
import { expect, it, onTestFinished } from "vitest";
import { createHttpServer } from "../../src/web/http-server.ts";
import { mostPipelined } from "../../src/web/request-queue.ts";
import { sendRaw } from "./support/send-raw.ts";
import { serveWeb } from "./support/serve-web.ts";

/** A server whose readiness waits until it is released. */
async function serveHeld() {
  const asked: (() => void)[] = [];
  const first = Promise.withResolvers<void>();
  const web = await serveWeb({
    async readiness() {
      const held = Promise.withResolvers<void>();
      asked.push(held.resolve);
      first.resolve();
      await held.promise;
      return { ready: true };
    },
  });
  onTestFinished(() => asked.forEach((release) => release()));
  return { ...web, asked, firstAsked: first.promise };
}

function open(address: string): Socket {
  const socket = connect(Number(new URL(address).port), "127.0.0.1");
  socket.on("error", () => {}).resume();
  onTestFinished(() => void socket.destroy());
  return socket;
}

const get = (path: string, headers = "") =>
  `GET ${path} HTTP/1.1\r\nhost: localhost\r\n${headers}\r\n`;

it("requests that come at once on a connection are handled one after the other, and answered in order", async () => {
  const { address, asked, firstAsked } = await serveHeld();
  const socket = open(address);
  socket.write(get("/-/ready") + get("/-/ready") + get("/nothing", "connection: close\r\n"));
  await firstAsked;
  await fetch(`${address}/-/healthy`);
  expect(asked).toHaveLength(1);
  asked[0]?.();
  let text = "";
  socket.setEncoding("latin1").on("data", (chunk) => {
    text += String(chunk);
    asked[1]?.();
  });
  await new Promise((resolve) => void socket.once("close", resolve));
  expect(text.match(/^HTTP\/1\.1 \d+/gm)).toEqual(["HTTP/1.1 200", "HTTP/1.1 200", "HTTP/1.1 404"]);
});

it("requests that wait when the client leaves are never handled", async () => {
  const { address, asked, firstAsked } = await serveHeld();
  const socket = open(address);
  socket.write(get("/-/ready") + get("/-/ready"));
  await firstAsked;
  socket.resetAndDestroy();
  await new Promise((resolve) => void socket.once("close", resolve));
  asked[0]?.();
  await fetch(`${address}/-/healthy`);
  expect(asked).toHaveLength(1);
});

it.each([
  ["of any kind", get("/api/x"), 8_000],
  ["that are as short as can be", "GET / HTTP/1.1\r\n\r\n", 3_000],
  ["with bodies", `POST /api/x HTTP/1.1\r\nhost: localhost\r\ncontent-length: 2\r\n\r\n{}`, 500],
  ["one more than may wait", get("/-/healthy"), mostPipelined + 1],
])("a connection on which too many requests wait is closed (%s)", async (_, request, count) => {
  const { address, asked, firstAsked, refusals } = await serveHeld();
  const socket = open(address);
  socket.write(get("/-/ready"));
  await firstAsked;
  socket.write(request.repeat(count));
  await new Promise((resolve) => void socket.once("close", resolve));
  expect(asked).toHaveLength(1);
  expect(refusals).toEqual([{ reason: "pipelining", address: "127.0.0.1" }]);
  expect((await fetch(`${address}/-/healthy`)).status).toBe(200);
});

it("as many as may wait are all answered", async () => {
  const { address } = await serveWeb();
  const { text } = await sendRaw(
    address,
    get("/-/healthy").repeat(mostPipelined) + get("/-/healthy", "connection: close\r\n"),
  );
  expect(text.match(/^HTTP\/1\.1 200/gm)).toHaveLength(mostPipelined + 1);
});

it("Node.js parses no further requests of what it received at once", async () => {
  // 3,600 requests took 0.1 s. If Node.js changes what stops its parser, they do again.
  const server = createHttpServer({
    tls: null,
    connections: 10,
    onRefused() {},
    onFull() {},
  });
  onTestFinished(() => server.close());
  let emitted = 0;
  server.server.on("request", () => (emitted += 1));
  const socket = open(await server.listen());
  socket.write("GET /-/ready HTTP/1.1\r\nhost: a\r\n\r\n".repeat(1_000));
  await new Promise((resolve) => void socket.once("close", resolve));
  expect(emitted).toBeLessThanOrEqual(mostPipelined + 2);
});

it("a connection is kept for 75 s after a response, and 15 minutes while nothing is sent or received", async () => {
  const server = createHttpServer({ tls: null, connections: 10, onRefused() {}, onFull() {} });
  onTestFinished(() => server.close());
  server.get("/", () => "ok");
  const { headers } = await fetch(await server.listen());
  expect(headers.get("keep-alive")).toBe("timeout=75");
  expect(server.server.timeout).toBe(900_000);
});
