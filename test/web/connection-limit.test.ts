import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { connect, type Socket } from "node:net";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { openFilesLimit } from "../../src/lib/descriptor-limit.ts";
import { connectionsAllowed as allowedBy, mostStreams } from "../../src/web/connection-limit.ts";
import { writeConfig } from "../support/config-file.ts";
import { startOneServerService } from "../support/one-server-service.ts";
import { startSandwatchWithFewFiles } from "../support/sandwatch-process.ts";
import { tempFolder } from "../support/temp-folder.ts";
import { startWebhookPeer, webhookSecret } from "../support/webhook-peer.ts";
import { serveWeb } from "./support/serve-web.ts";
import { until } from "../e2e/support/until.ts";

const readyRequest = "GET /-/ready HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n";
const healthRequest = "GET /-/healthy HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n";

async function open(address: string, request = "", localAddress?: string): Promise<Socket> {
  const { hostname: host, port } = new URL(address);
  const socket = connect({ port: Number(port), host, ...(localAddress && { localAddress }) });
  socket.on("error", () => {});
  onTestFinished(() => void socket.destroy());
  await once(socket, "connect");
  if (request !== "") socket.write(request);
  return socket;
}

/** A server of few connections; requests for its readiness wait until they are released. */
async function serveFew(connectionsAllowed = 2) {
  const held = Promise.withResolvers<void>();
  const asked = Promise.withResolvers<void>();
  const full: number[] = [];
  let waiting = 0;
  const { address } = await serveWeb({
    async readiness() {
      waiting += 1;
      if (waiting === 2) asked.resolve();
      await held.promise;
      return { ready: true };
    },
    connectionsAllowed,
    onFull: (allowed) => full.push(allowed),
  });
  onTestFinished(() => held.resolve());
  return {
    address,
    full,
    bothAsked: asked.promise,
    waiting: () => waiting,
    release: () => held.resolve(),
  };
}

describe("one connection more than allowed", () => {
  it("closes the one that has been without a request for longest", async () => {
    const { address, full } = await serveFew();
    const first = await open(address, healthRequest);
    await once(first, "data");
    const second = await open(address, healthRequest);
    await once(second, "data");
    // Used again, it is not the one that was idle for longest.
    first.write(healthRequest);
    await once(first, "data");
    const secondClosed = once(second, "close");
    const third = await open(address, healthRequest);
    await once(third, "data");
    await secondClosed;
    first.write(healthRequest);
    await once(first, "data");
    expect(full).toEqual([]);
  });

  it("is refused if each other has a request, which is reported once", async () => {
    const { address, full, bothAsked, release } = await serveFew();
    const answers = [fetch(`${address}/-/ready`), fetch(`${address}/-/ready`)];
    await bothAsked;
    await expect(fetch(`${address}/-/healthy`)).rejects.toThrow("fetch failed");
    await expect(fetch(`${address}/-/healthy`)).rejects.toThrow("fetch failed");
    expect(full).toEqual([2]);
    release();
    for (const answer of answers) expect((await answer).status).toBe(200);
    expect((await fetch(`${address}/-/healthy`)).status).toBe(200);
  });

  it("takes the place of the oldest one of the host that has most, if each has a request", async () => {
    const { address, full, release, waiting } = await serveFew(4);
    const closed: number[] = [];
    const askFrom = async (localAddress: string, index: number) => {
      const socket = await open(address, readyRequest, localAddress);
      socket.once("close", () => closed.push(index));
      await until("asked or refused", async () => waiting() === index || socket.closed);
    };
    for (const index of [1, 2, 3, 4]) await askFrom("127.0.0.1", index);
    await askFrom("127.0.0.2", 5);
    await askFrom("127.0.0.2", 6);
    await until("two are closed", async () => closed.length === 2);
    expect([closed, full]).toEqual([[1, 2], []]);
    // It has as many as the other host.
    await askFrom("127.0.0.2", 7);
    await until("a third is closed", async () => closed.length === 3);
    expect([closed, full]).toEqual([[1, 2, 7], [4]]);
    release();
  });
});

it("a quarter of the connections of the process is allowed, at least one, and never more than 4096", () => {
  expect([0, 32, 992, Infinity].map((limit) => allowedBy(limit))).toEqual([1, 8, 248, 4_096]);
});

it("at most half of them, and never more than 512, may be streams of events", () => {
  expect([1, 8, 1_024, 4_096].map(mostStreams)).toEqual([0, 4, 512, 512]);
});

it.each([
  ["Max open files            64                   64                   files     \n", 64],
  ["Max open files            unlimited            unlimited            files     \n", Infinity],
  ["something else\n", 1_024],
])("the limit of open files is read from %j", (text, limit) => {
  const file = join(tempFolder(), "limits");
  writeFileSync(file, `Limit   Soft Limit   Hard Limit   Units\n${text}`);
  expect(openFilesLimit(file)).toBe(limit);
});

it("with few descriptors and many idle connections it polls, delivers and answers", async () => {
  const { baseUrl, show } = await startOneServerService("idle");
  const peer = await startWebhookPeer();
  const receiver = { name: "oncall", type: "webhook", url: peer.url, secret: webhookSecret };
  const { config } = writeConfig({
    regions: { us: { base_url: baseUrl } },
    poll: { every: "1s" },
    alerts: { receivers: [{ ...receiver, group_wait: "0s" }] },
  });
  const daemon = startSandwatchWithFewFiles(64, ["run", "--config", config]);
  const { address }: { address: string } = JSON.parse(await daemon.line("daemon.started"));
  for (let opened = 0; opened < 300; opened += 1) {
    await open(address, opened % 2 === 0 ? "" : healthRequest);
  }
  show("error");
  await peer.received(1);
  expect(peer.alerts).toMatchObject([{ type: "incident.firing" }]);
  const metrics = await (await fetch(`${address}/metrics`)).text();
  expect(metrics).toMatch(/^sandwatch_target_up\{.*\} 1$/m);
  daemon.send("SIGTERM");
  const ended = await daemon.ended;
  expect(ended).toMatchObject({ code: 0, err: "" });
  expect(ended.out).not.toContain("EMFILE");
});
