import { once } from "node:events";
import { createServer, get as httpGet, type IncomingMessage } from "node:http";
import { expect, onTestFinished, test } from "vitest";
import { seededRandom } from "../../src/lib/random.ts";
import { createExchange } from "../../src/simulator/exchange.ts";
import { createFaultBoard } from "../../src/simulator/fault-board.ts";
import { createGate } from "../../src/simulator/gate.ts";
import { createFakeClock } from "../support/fake-clock.ts";

/** Serves endless listings of one-megabyte chunks and counts the chunks made. */
async function serveEndless() {
  const clock = createFakeClock();
  let made = 0;
  let ended = 0;
  function* endless(): Generator<string> {
    try {
      for (;;) {
        made++;
        yield "x".repeat(1_000_000);
      }
    } finally {
      ended++;
    }
  }
  const exchange = createExchange({
    regions: ["us"],
    clock,
    gate: createGate({ clock, keys: [{ name: "a", apiKey: "a-key" }], rateLimit: null }),
    faultBoard: createFaultBoard([], { clock, random: seededRandom(1) }),
    operations: (route) => ({
      status: 200,
      headers: {},
      body: route.operation === "list_sandboxes" ? endless() : ["{}"],
    }),
  });
  const settled = Promise.withResolvers<void>();
  const server = createServer((request, response) => {
    const done = exchange(request, response);
    if (request.url === "/us/local-sandbox") void done.then(settled.resolve, settled.reject);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => {
    server.close();
    server.closeAllConnections();
  });
  const address = server.address();
  const port = typeof address === "object" ? address?.port : 0;
  const base = `http://127.0.0.1:${port}/us`;
  return { base, made: () => made, ended: () => ended, settled: settled.promise };
}

const headers = { authorization: "Bearer a-key" };

/** The head of the answer; its body is not read. */
async function openListing(base: string): Promise<IncomingMessage> {
  const { promise, resolve } = Promise.withResolvers<IncomingMessage>();
  httpGet(`${base}/local-sandbox`, { headers }, resolve);
  const response = await promise;
  response.on("error", () => {});
  return response;
}

test("a reader that stops reading stops the making, and others are answered meanwhile", async () => {
  const { base, made } = await serveEndless();
  const response = await openListing(base);
  for (let turn = 0; turn < 200; turn++) {
    await (await fetch(`${base}/universes`, { headers })).text();
  }
  expect(made()).toBeLessThan(60);
  response.destroy();
});

test("a reader that goes away ends the making", async () => {
  const { base, settled, ended } = await serveEndless();
  (await openListing(base)).destroy();
  await settled;
  expect(ended()).toBe(1);
});
