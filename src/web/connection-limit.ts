import type { Server } from "node:http";
import type { Socket } from "node:net";
import { Server as TlsServer } from "node:tls";
import { connectionsLimit } from "../lib/descriptor-limit.ts";
import { hostNetwork } from "../lib/networks.ts";

/** More are of no use to anybody, and each takes memory. */
const mostConnections = 4_096;

/** How many may be open: the rest is for calls and deliveries. */
export function connectionsAllowed(connections = connectionsLimit()): number {
  return Math.min(Math.max(1, Math.floor(connections / 4)), mostConnections);
}

/** How many of them may be streams of events, which last for as long as a page is open. */
export function mostStreams(connections: number): number {
  return Math.min(512, Math.floor(connections / 2));
}

/**
 * Keeps the connections to a server below a limit. One more closes a connection without a request: one of the host that
 * has most, if that leaves this host no fewer than the newcomer's, or else the one that has been without a request for
 * longest. When each has a request that is being answered, it takes the place of the oldest one of that host. Otherwise
 * it is refused itself.
 *
 * @param onFull a connection was refused; not called again until the number was below the limit
 */
export function limitConnections(
  server: Server,
  limit: number,
  onFull: (address: string) => void,
): void {
  /** Those without a request, the longest so first. */
  const idle = new Set<Socket>();
  const open = new Map<Socket, { readonly host: string; inWork: number }>();
  const byHost = new Map<string, Set<Socket>>();
  let isFull = false;
  const forget = (socket: Socket): void => {
    const host = open.get(socket)?.host;
    if (host === undefined) return;
    open.delete(socket);
    idle.delete(socket);
    const ofHost = byHost.get(host);
    ofHost?.delete(socket);
    if (ofHost?.size === 0) byHost.delete(host);
    isFull = false;
  };
  /** The connections of the host that has most; none if this host has as many. The oldest first. */
  const findUnfair = (host: string): readonly Socket[] => {
    let most = new Set<Socket>();
    for (const ofHost of byHost.values()) if (ofHost.size > most.size) most = ofHost;
    return most.size > (byHost.get(host)?.size ?? 0) + 1 ? [...most] : [];
  };
  // Requests come over the encrypted socket, which is another object than the one of the connection.
  const event = server instanceof TlsServer ? "secureConnection" : "connection";
  if (server instanceof TlsServer) limitHandshakes(server, limit);
  server.on(event, (socket: Socket) => {
    const address = socket.remoteAddress;
    // It was reset already.
    if (address === undefined) return void socket.destroy();
    const host = hostNetwork(address);
    if (open.size >= limit) {
      const unfair = findUnfair(host);
      const [longestIdle = unfair[0]] = idle;
      const replaced = unfair.find((each) => idle.has(each)) ?? longestIdle;
      if (!replaced) {
        if (!isFull) onFull(address);
        isFull = true;
        socket.destroy();
        return;
      }
      forget(replaced);
      replaced.destroy();
    }
    open.set(socket, { host, inWork: 0 });
    byHost.set(host, (byHost.get(host) ?? new Set()).add(socket));
    idle.add(socket);
    socket.once("close", () => forget(socket));
  });
  server.on("request", ({ socket }, response) => {
    const connection = open.get(socket);
    if (!connection) return;
    idle.delete(socket);
    connection.inWork += 1;
    response.once("close", () => {
      connection.inWork -= 1;
      if (connection.inWork === 0 && open.has(socket)) idle.add(socket);
    });
  });
}

/** One handshake more than the limit closes the connection that began the longest ago without completing its own. */
function limitHandshakes(server: TlsServer, limit: number): void {
  const handshaking = new Map<string, Socket>();
  // The encrypted socket is another object.
  const nameOf = ({ remoteAddress, remotePort }: Socket): string =>
    `${remoteAddress} ${remotePort}`;
  server.on("connection", (socket: Socket) => {
    const name = nameOf(socket);
    handshaking.set(name, socket);
    socket.once("close", () => handshaking.delete(name));
    const [oldest] = handshaking;
    if (handshaking.size <= limit || !oldest) return;
    handshaking.delete(oldest[0]);
    oldest[1].destroy();
  });
  server.on("secureConnection", (socket) => handshaking.delete(nameOf(socket)));
}
