import type { Server } from "node:http";
import type { Socket } from "node:net";
import { Server as TlsServer } from "node:tls";
import { connectionsLimit } from "../lib/descriptor-limit.ts";

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
 * Keeps the connections to a server below a limit. One more closes the connection that has been without a request
 * for longest. When each has a request that is being answered, it is refused itself.
 *
 * @param onFull a connection was refused; not called again until the number was below the limit
 */
export function limitConnections(server: Server, limit: number, onFull: () => void): void {
  /** Those without a request, the longest so first. */
  const idle = new Set<Socket>();
  let open = 0;
  let isFull = false;
  // Requests come over the encrypted socket, which is another object than the one of the connection.
  const event = server instanceof TlsServer ? "secureConnection" : "connection";
  if (server instanceof TlsServer) limitHandshakes(server, limit);
  server.on(event, (socket: Socket) => {
    open += 1;
    socket.once("close", () => {
      open -= 1;
      idle.delete(socket);
      if (open < limit) isFull = false;
    });
    if (open > limit) {
      const [longestIdle] = idle;
      if (!longestIdle) {
        if (!isFull) onFull();
        isFull = true;
        socket.destroy();
        return;
      }
      idle.delete(longestIdle);
      longestIdle.destroy();
    }
    idle.add(socket);
  });
  server.on("request", ({ socket }, response) => {
    idle.delete(socket);
    response.once("close", () => {
      if (!socket.destroyed) idle.add(socket);
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
