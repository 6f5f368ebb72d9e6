import type { LookupAddress } from "node:dns";
import { once } from "node:events";
import { connect, createServer, type LookupFunction, type Socket } from "node:net";
import { describe, expect, it, onTestFinished } from "vitest";
import { parseNetwork } from "../../src/lib/networks.ts";
import type { Secret } from "../../src/lib/secret.ts";
import type { OutboundDeps } from "../../src/notify/outbound.ts";
import { failed, type SendResult } from "../../src/notify/receiver.ts";
import { createFakeClock } from "../support/fake-clock.ts";
import { listenOnLoopback } from "../support/listen.ts";
import { startMs } from "./support/items.ts";
import { openOutbound } from "./support/outbound.ts";
import { hang, startReceiverServer, status, type Answer } from "./support/receiver-server.ts";

const never = new AbortController().signal;
const delivered: SendResult = { kind: "delivered" };
const byName = "http://hooks.example.com:9/T0PSECRET";

/** Posts to a URL. */
function open(more: Partial<OutboundDeps> = {}) {
  const outbound = openOutbound(createFakeClock(), more);
  return (url: string, signal = never): Promise<SendResult> =>
    outbound.send({ url: new URL(url), body: "{}" }, signal);
}

/** The result of a request that is answered so, and how often the server was asked. */
async function answeredWith(answer: Answer): Promise<readonly [SendResult, requests: number]> {
  const server = await startReceiverServer(answer);
  return [await open()(server.url.reveal()), server.requests.length];
}

/** A resolver of names that returns one list after another, the last one from then on. */
function resolver(...answers: readonly (readonly string[])[]) {
  const asked: string[] = [];
  const lookup: LookupFunction = (hostname, _, callback) => {
    const addresses = answers[Math.min(asked.length, answers.length - 1)] ?? [];
    asked.push(hostname);
    const family = (address: string): number => (address.includes(":") ? 6 : 4);
    callback(
      null,
      addresses.map((address): LookupAddress => ({ address, family: family(address) })),
    );
  };
  return { asked, lookup };
}

/** Answers each connection as it wants, over plain TCP. */
async function startTcpServer(answer: (socket: Socket) => void) {
  const sockets: Socket[] = [];
  const server = createServer((socket) => {
    sockets.push(socket);
    socket.on("error", () => {});
    socket.once("data", () => answer(socket));
  });
  const port = await listenOnLoopback(server);
  return { url: `http://127.0.0.1:${port}/T0PSECRET`, port, server, sockets };
}

describe("a receiver's host", () => {
  it.each([
    ["http://169.254.169.254/latest", "a metadata service"],
    ["http://2852039166/latest", "a metadata service"],
    ["http://[fe80::1]/", "a link-local address"],
  ])("that is the address %s is denied", async (url, why) => {
    expect(await open()(url)).toEqual(failed("denied", why));
  });

  it.each([
    [["64:ff9b::a9fe:a9fe"], "a metadata service"],
    [["127.0.0.1", "fe80::1"], "a link-local address"],
  ])("that resolves to %j is denied", async (addresses, why) => {
    expect(await open(resolver(addresses))(byName)).toEqual(failed("denied", why));
  });

  it("is resolved once for each connection, and denied if it has moved", async () => {
    const server = await startReceiverServer(status(204, { connection: "close" }));
    const { lookup, asked } = resolver(["127.0.0.1"], ["127.0.0.1", "169.254.169.254"]);
    const post = open({ lookup });
    const url = server.url.reveal().replace("127.0.0.1", "hooks.example.com");
    expect(await post(url)).toEqual(delivered);
    expect(asked).toHaveLength(1);
    expect(await post(url)).toEqual(failed("denied", "a metadata service"));
    expect(server.requests).toHaveLength(1);
  });

  const networks = (...texts: string[]) => texts.flatMap((text) => parseNetwork(text) ?? []);
  it.each([
    ["denies its network", networks("127.0.0.0/8"), null, "denied by deny_networks"],
    ["allows other networks only", [], networks("10.0.0.0/8"), "not among allow_networks"],
    ["allows its network", [], networks("127.0.0.0/8"), null],
  ])("by address and by name, where the configuration %s", async (_, deny, allow, why) => {
    const server = await startReceiverServer();
    const { lookup } = resolver(["127.0.0.1"]);
    const post = open({ lookup, networks: { deny, allow } });
    const url = server.url.reveal();
    for (const each of [url, url.replace("127.0.0.1", "hooks.example.com")]) {
      expect(await post(each)).toEqual(why === null ? delivered : failed("denied", why));
    }
    expect(server.requests).toHaveLength(why === null ? 2 : 0);
  });

  it.each([
    ["ENOTFOUND", "network"],
    ["ETIMEDOUT", "timeout"],
    ["UND_ERR_CONNECT_TIMEOUT", "timeout"],
  ] as const)("that cannot be resolved for %s is a failure: %s", async (code, reason) => {
    const lookup: LookupFunction = (hostname, _options, callback) => {
      callback(Object.assign(new Error(`getaddrinfo ${code} ${hostname}`), { code }), "");
    };
    expect(await open({ lookup })("http://T0PSECRET.example.com/")).toEqual(failed(reason, code));
  });
});

describe("an answer", () => {
  it.each([
    [200, null],
    [204, null],
    [307, "redirect"],
    [404, "rejected"],
    [408, "timeout"],
    [410, "gone"],
    [425, "rate_limited"],
    [429, "rate_limited"],
    [500, "server_error"],
  ] as const)("with status %i means: %s; a redirect is not followed", async (code, reason) => {
    const [result, requests] = await answeredWith(status(code, { location: "/elsewhere" }));
    expect(result).toEqual(reason === null ? delivered : failed(reason, `HTTP ${code}`));
    expect(requests).toBe(1);
  });

  it.each([
    ["120", 120_000],
    [new Date(startMs + 90_000).toUTCString(), 90_000],
    ["soon", null],
  ])("with Retry-After %j asks to wait %s ms", async (value, retryAfterMs) => {
    const [result] = await answeredWith(status(429, { "retry-after": value }));
    expect(result).toMatchObject({ kind: "failed", retryAfterMs });
  });

  it("whose body never ends is read no further than it must", async () => {
    let written = 0;
    const [result] = await answeredWith((response) => {
      response.writeHead(200);
      const more = (): void => {
        while (!response.destroyed && response.write(Buffer.alloc(16_384))) written += 16_384;
      };
      response.on("drain", more);
      more();
    });
    expect(result).toEqual(delivered);
    expect(written).toBeLessThan(64 * 1024 * 1024);
  });

  it("is read up to 64 KiB, with headers of up to 16 KiB", async () => {
    const small = await startReceiverServer(
      status(200, { x: "h".repeat(15_000) }, "b".repeat(90_000)),
    );
    const large = await startReceiverServer(status(200, { x: "h".repeat(17_000) }));
    const lengths: number[] = [];
    const send = (url: Secret) =>
      openOutbound(createFakeClock()).send(
        { url: new URL(url.reveal()), body: "{}" },
        never,
        (answer) => {
          lengths.push(answer.text.length);
          return delivered;
        },
      );
    expect(await send(small.url)).toEqual(delivered);
    expect(await send(large.url)).toMatchObject({ kind: "failed", reason: "network" });
    expect(lengths).toEqual([64 * 1_024]);
  });

  it.each<[string, (socket: Socket) => void]>([
    ["of garbage", (socket) => void socket.end("T0PSECRET garbage\r\n\r\n")],
    ["that breaks off", (socket) => void socket.destroy()],
    [
      "whose headers do not end",
      (socket) => void socket.write(`HTTP/1.1 200 OK\r\n${"x-more: a\r\n".repeat(9_000)}`),
    ],
  ])("%s is a network failure, which contains nothing of it", async (_, answer) => {
    const result = await open()((await startTcpServer(answer)).url);
    expect(result).toMatchObject({ kind: "failed", reason: "network" });
    expect(JSON.stringify(result)).not.toContain("T0PSECRET");
  });

  it("that never comes is aborted with the signal", async () => {
    const server = await startReceiverServer(hang);
    const aborting = new AbortController();
    const sent = open()(server.url.reveal(), aborting.signal);
    await server.received(1);
    aborting.abort();
    expect(await sent).toEqual({ kind: "aborted" });
  });
});

it("connects to nothing after it was closed", async () => {
  const { port, server, sockets } = await startTcpServer(() => {});
  const looking = Promise.withResolvers<() => void>();
  const lookup: LookupFunction = (_, __, callback) =>
    looking.resolve(() => callback(null, [{ address: "127.0.0.1", family: 4 }]));
  const outbound = openOutbound(createFakeClock(), { lookup });
  const sent = outbound.send({ url: new URL(`http://hooks.example.com:${port}/`) }, never);
  const answer = await looking.promise;
  await outbound.close();
  expect(await sent).toMatchObject({ kind: "failed", reason: "network" });

  answer();
  const connected = once(server, "connection");
  const ours = connect(port, "127.0.0.1");
  onTestFinished(() => void ours.destroy());
  await connected;
  expect(sockets.map(({ remotePort }) => remotePort)).toEqual([ours.localPort]);
});
