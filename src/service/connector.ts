import { Socket } from "node:net";
import { buildConnector } from "undici";

export interface Connector {
  readonly connect: buildConnector.connector;
  /**
   * To be called as a request is dispatched. What it gives tells of the error of that request whether
   * it broke a connection that had carried an answer before, and before a byte of this one came.
   */
  watchUsedConnections(): (error: unknown) => boolean;
  /** Closes the connections that are still being made: undici would wait for them. */
  close(): void;
}

/** @param timeoutMs for each connection, with its TLS handshake */
export function createConnector(timeoutMs: number): Connector {
  // HTTP/1.1 alone: what happens to its connections is known and tested.
  const build = buildConnector({ timeout: timeoutMs, allowH2: false });
  const open = new Set<Socket>();
  const brokenBy = new WeakMap<object, Socket>();
  const connecting = new Set<Socket>();

  return {
    connect(options, callback) {
      let attempt: Socket | undefined;
      // Typed as void, it gives the socket; without it only `close` would be slower.
      const made: unknown = build(options, (...result) => {
        if (attempt) connecting.delete(attempt);
        const [, socket] = result;
        if (socket) {
          open.add(socket);
          socket.once("close", () => open.delete(socket));
          socket.prependListener("error", (error) => brokenBy.set(error, socket));
        }
        callback(...result);
      });
      if (made instanceof Socket) {
        attempt = made;
        connecting.add(made);
      }
    },
    watchUsedConnections() {
      // One request at a time goes over a connection: one that takes a new request and has been read
      // from has carried a whole answer.
      const readBefore = new Map(Array.from(open, (socket) => [socket, socket.bytesRead]));
      return (error) => {
        const socket = typeof error === "object" && error ? brokenBy.get(error) : undefined;
        const bytes = socket ? readBefore.get(socket) : undefined;
        return bytes !== undefined && bytes > 0 && socket?.bytesRead === bytes;
      };
    },
    close() {
      for (const socket of connecting) socket.destroy(new Error("stopped"));
    },
  };
}
