import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { createServer as createTcpServer, type Socket } from "node:net";
import { setImmediate as nextTurn } from "node:timers/promises";
import { onTestFinished } from "vitest";
import { emptySnapshot } from "../../src/fleet/snapshot.ts";
import { createServiceClient, type EndedRequest } from "../../src/service/client.ts";
import type { ListingCall, ServiceClient, ServiceClientOptions } from "../../src/service/client.ts";
import { Secret } from "../../src/lib/secret.ts";
import { createFakeClock, type FakeClock } from "../support/fake-clock.ts";
import { cleanUp } from "../support/share.ts";
import { listenOnLoopback } from "../support/listen.ts";

export type Handler = (request: IncomingMessage, response: ServerResponse) => void;

export interface Peer {
  readonly baseUrl: string;
  readonly server: Server;
  /** Every connection ever made. */
  readonly sockets: readonly Socket[];
  /** The paths asked for, as they came over the wire. */
  readonly paths: readonly string[];
}

/** A real HTTP server in the service's place, closed when the test ends. */
export async function startPeer(handler: Handler): Promise<Peer> {
  const sockets: Socket[] = [];
  const paths: string[] = [];
  const server = createServer((request, response) => {
    paths.push(request.url ?? "");
    handler(request, response);
  });
  // However slowly an answer is read, the peer does not hang up meanwhile.
  server.keepAliveTimeout = 0;
  server.on("connection", (socket) => sockets.push(socket));
  const baseUrl = await listen(server);
  cleanUp(() => server.closeAllConnections());
  return { baseUrl, server, sockets, paths };
}

/** Settles once the peer sees its first connection closed. Asked for before what closes it. */
export function closing(peer: Peer): Promise<void> {
  const [socket] = peer.sockets;
  if (!socket) throw new TypeError("nobody has connected");
  return new Promise((resolve) => socket.once("close", () => resolve()));
}

/** A server that speaks whatever `onSocket` writes. */
export async function startTcpPeer(onSocket: (socket: Socket) => void): Promise<string> {
  const server = createTcpServer((socket) => {
    socket.on("error", () => {});
    onTestFinished(() => void socket.destroy());
    onSocket(socket);
  });
  return listen(server);
}

async function listen(server: Server | ReturnType<typeof createTcpServer>): Promise<string> {
  return `http://127.0.0.1:${await listenOnLoopback(server)}`;
}

export interface ClientUnderTest {
  readonly client: ServiceClient;
  readonly clock: FakeClock;
  readonly call: ListingCall;
  readonly ended: readonly EndedRequest[];
}

export const testKey = "test-key-7f3a";

/** A client of one region, `us`. The test fails when it leaves a timer armed. */
export function createTestClient(
  baseUrl: string,
  options: Partial<ServiceClientOptions> = {},
): ClientUnderTest {
  const clock = createFakeClock();
  const ended: EndedRequest[] = [];
  const client = createServiceClient({
    regions: new Map([["us", { baseUrl }]]),
    timeoutMs: 10_000,
    maxBodyBytes: 1024 * 1024,
    userAgent: "sandwatch/test",
    clock,
    onRequest: (request) => ended.push(request),
    ...options,
  });
  onTestFinished(async () => {
    await client.close();
    if (clock.armed > 0) throw new Error(`${clock.armed} timers were left armed`);
  });
  const apiKey = new Secret(testKey);
  const call = { region: "us", apiKey, before: emptySnapshot, poll: 0 };
  return { client, clock, ended, call };
}

export function answerJson(response: ServerResponse, body: unknown, status = 200): void {
  response.writeHead(status, { "content-type": "application/json" });
  response.end(JSON.stringify(body));
}

export const emptyListing = { local_sandboxes: [], total_count: 0 };

/** Lists nothing, and breaks the connection instead at some of the requests, counted from 1. */
export async function startBreakingPeer(breaksAt: (request: number) => boolean): Promise<Peer> {
  let requests = 0;
  return startPeer(({ socket }, response) => {
    requests += 1;
    if (breaksAt(requests)) socket.resetAndDestroy();
    else answerJson(response, emptyListing);
  });
}

/** A client that has asked once, and keeps the connection. */
export async function createConnectedClient({ baseUrl }: Peer): Promise<ClientUnderTest> {
  const connected = createTestClient(baseUrl);
  await connected.client.listSandboxes(connected.call);
  await nextTurn();
  return connected;
}
