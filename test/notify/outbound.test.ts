import type { LookupAddress } from "node:dns";
import { once } from "node:events";
import { connect, createServer, type Socket } from "node:net";
import type { LookupFunction } from "node:net";
import { describe, expect, it, onTestFinished } from "vitest";
import { createOutbound } from "../../src/notify/outbound.ts";
import type { OutboundDeps } from "../../src/notify/outbound.ts";
import type { SendResult } from "../../src/notify/receiver.ts";
import { parseNetwork } from "../../src/platform/networks.ts";
import { createFakeClock } from "../support/fake-clock.ts";
import { openOutbound } from "./support/outbound.ts";
import { startReceiverServer, status } from "./support/receiver-server.ts";

const never = new AbortController().signal;

type More = Partial<Pick<OutboundDeps, "networks" | "lookup">>;

function open(more: More = {}) {
  const outbound = openOutbound(createFakeClock(), more);
  const post = (url: string | URL, signal = never): Promise<SendResult> =>
    outbound.send({ url: new URL(url), body: "{}" }, signal);
  return { post };
}

/** A resolver of names that gives one list after another, the last one from then on. */
function resolver(...answers: readonly (readonly string[])[]) {
  const asked: string[] = [];
  const lookup: LookupFunction = (hostname, _, callback) => {
    const addresses = answers[Math.min(asked.length, answers.length - 1)] ?? [];
    asked.push(hostname);
    callback(
      null,
      addresses.map((address): LookupAddress => ({
        address,
        family: address.includes(":") ? 6 : 4,
      })),
    );
  };
  return { asked, lookup };
}

function networks(...texts: string[]) {
  return texts.flatMap((text) => parseNetwork(text) ?? []);
}

/** Answers each connection as it wants, over plain TCP. Counts what was connected. */
async function startTcpServer(answer: (socket: Socket) => void) {
  const sockets: Socket[] = [];
  const server = createServer((socket) => {
    sockets.push(socket);
    socket.on("error", () => {});
    socket.once("data", () => answer(socket));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  const address = server.address();
  const port = typeof address === "object" && address ? address.port : 0;
  const connected = (): Promise<unknown> => once(server, "connection");
  return { url: `http://127.0.0.1:${port}/T0PSECRET`, port, sockets, connected };
}

const denied = (detail: string) => ({
  kind: "failed",
  reason: "denied",
  detail,
  retryAfterMs: null,
});

describe("a receiver's host", () => {
  it.each([
    ["http://169.254.169.254/latest", "a metadata service"],
    ["http://2852039166/latest", "a metadata service"],
    ["http://0xa9fea9fe/latest", "a metadata service"],
    ["http://[::ffff:169.254.169.254]/latest", "a metadata service"],
    ["http://[fd00:ec2::254]/latest", "a metadata service"],
    ["http://[fe80::1]/", "a link-local address"],
    ["http://0.0.0.0/", "the unspecified address"],
    ["http://[::]/", "the unspecified address"],
    ["https://224.0.0.1/", "a multicast or broadcast address"],
  ])("that is the address %s is denied", async (url, why) => {
    expect(await open().post(url)).toEqual(denied(why));
  });

  it.each([
    [["169.254.169.254"], "a metadata service"],
    [["::ffff:169.254.169.254"], "a metadata service"],
    [["64:ff9b::a9fe:a9fe"], "a metadata service"],
    [["127.0.0.1", "fe80::1"], "a link-local address"],
    [["0.0.0.0"], "the unspecified address"],
  ])("that resolves to %j is denied", async (addresses, why) => {
    const { lookup, asked } = resolver(addresses);
    const url = "http://hooks.example.com:9/T0PSECRET";
    expect(await open({ lookup }).post(url)).toEqual(denied(why));
    expect(asked).toEqual(["hooks.example.com"]);
  });

  it("is asked for once, and connected to where that answer was, whatever the next would be", async () => {
    const server = await startReceiverServer();
    const { lookup, asked } = resolver(["127.0.0.1"], ["169.254.169.254"]);
    const { post } = open({ lookup });
    const url = server.url.reveal().replace("127.0.0.1", "hooks.example.com");
    expect(await post(url)).toEqual({ kind: "delivered" });
    expect(server.requests).toHaveLength(1);
    expect(asked).toEqual(["hooks.example.com"]);
  });

  it("is asked for again with a new connection, and then denied if it has moved", async () => {
    const server = await startReceiverServer(status(204, { connection: "close" }));
    const { lookup } = resolver(["127.0.0.1"], ["127.0.0.1", "169.254.169.254"]);
    const { post } = open({ lookup });
    const url = server.url.reveal().replace("127.0.0.1", "hooks.example.com");
    expect(await post(url)).toEqual({ kind: "delivered" });
    expect(await post(url)).toEqual(denied("a metadata service"));
    expect(server.requests).toHaveLength(1);
  });

  it("is denied where the configuration denies its network, by address and by name", async () => {
    const server = await startReceiverServer();
    const { lookup } = resolver(["127.0.0.1"]);
    const { post } = open({ lookup, networks: { deny: networks("127.0.0.0/8"), allow: null } });
    expect(await post(server.url.reveal())).toEqual(denied("denied by deny_networks"));
    const named = server.url.reveal().replace("127.0.0.1", "hooks.example.com");
    expect(await post(named)).toEqual(denied("denied by deny_networks"));
    expect(server.requests).toEqual([]);
  });

  it("is denied where the configuration allows other networks alone", async () => {
    const server = await startReceiverServer();
    const elsewhere = open({ networks: { deny: [], allow: networks("10.0.0.0/8") } });
    expect(await elsewhere.post(server.url.reveal())).toEqual(denied("not among allow_networks"));
    const here = open({ networks: { deny: [], allow: networks("127.0.0.0/8") } });
    expect(await here.post(server.url.reveal())).toEqual({ kind: "delivered" });
    expect(server.requests).toHaveLength(1);
  });

  it.each([
    ["that cannot be resolved is a network failure", "ENOTFOUND", "network"],
    ["that takes too long to be reached is a time-out", "ETIMEDOUT", "timeout"],
    ["that takes too long to be connected to is a time-out", "UND_ERR_CONNECT_TIMEOUT", "timeout"],
  ])("%s, which does not name it", async (_, code, reason) => {
    const lookup: LookupFunction = (hostname, _options, callback) => {
      callback(Object.assign(new Error(`getaddrinfo ${code} ${hostname}`), { code }), "");
    };
    const result = await open({ lookup }).post("http://T0PSECRET.example.com/");
    expect(result).toEqual({ kind: "failed", reason, detail: code, retryAfterMs: null });
  });

  it("that resolves to nothing is a network failure", async () => {
    const { lookup } = resolver([]);
    const result = await open({ lookup }).post("http://hooks.example.com/");
    expect(result).toMatchObject({ kind: "failed", reason: "network" });
  });
});

describe("an answer", () => {
  it.each(["http://169.254.169.254/latest/meta-data/", "/elsewhere"])(
    "that redirects to %s is a failure, and is not followed",
    async (location) => {
      const server = await startReceiverServer(status(307, { location }));
      const result = await open().post(server.url.reveal());
      expect(result).toMatchObject({ reason: "redirect", detail: "HTTP 307" });
      expect(server.requests).toHaveLength(1);
    },
  );

  it("of garbage is a network failure", async () => {
    const server = await startTcpServer((socket) => socket.end("T0PSECRET garbage\r\n\r\n"));
    const result = await open().post(server.url);
    expect(result).toMatchObject({ kind: "failed", reason: "network" });
    expect(JSON.stringify(result)).not.toContain("T0PSECRET");
  });

  it("with endless headers is a network failure, read no further than 16 KiB and a little", async () => {
    const line = `x-more: ${"a".repeat(1_000)}\r\n`;
    const server = await startTcpServer((socket) => {
      socket.write("HTTP/1.1 200 OK\r\n");
      const more = (): void => {
        while (!socket.destroyed && socket.write(line));
        if (!socket.destroyed) socket.once("drain", more);
      };
      more();
    });
    const result = await open().post(server.url);
    expect(result).toMatchObject({ reason: "network", detail: "UND_ERR_HEADERS_OVERFLOW" });
  });

  it("that never comes ends with the signal", async () => {
    const ending = new AbortController();
    const server = await startTcpServer((socket) => {
      socket.write("HTTP/1.1 200 OK\r\nx-slow: ");
      ending.abort();
    });
    const result = await open().post(server.url, ending.signal);
    expect(result).toEqual({ kind: "aborted" });
  });
});

it("makes no connection any more once it is closed", async () => {
  const server = await startTcpServer(() => {});
  let answer = (): void => {};
  let looked = (): void => {};
  const looking = new Promise<void>((resolve) => (looked = resolve));
  const lookup: LookupFunction = (_, __, callback) => {
    answer = () => callback(null, [{ address: "127.0.0.1", family: 4 }]);
    looked();
  };
  const deps = { clock: createFakeClock(), userAgent: "sandwatch/test", lookup };
  const outbound = createOutbound(deps);
  const url = new URL(`http://hooks.example.com:${server.port}/`);
  const sent = outbound.send({ url, body: "{}" }, never);
  await looking;
  await outbound.close();
  expect(await sent).toMatchObject({ kind: "failed", reason: "network" });

  answer();
  const ours = connect(server.port, "127.0.0.1");
  onTestFinished(() => void ours.destroy());
  await server.connected();
  expect(server.sockets.map(({ remotePort }) => remotePort)).toEqual([ours.localPort]);
});
