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
  const connecting = new Set<Socket>();
  /** Of an error that broke a connection: how many requests had been dispatched when it last brought bytes. */
  const lastReadAt = new WeakMap<object, number>();
  let dispatched = 0;

  const watch = (socket: Socket): void => {
    let readAt: number | null = null;
    socket.on("readable", () => {
      if (socket.readableLength > 0) readAt = dispatched;
    });
    socket.prependListener("error", (error) => {
      if (readAt !== null) lastReadAt.set(error, readAt);
    });
  };

  return {
    connect(options, callback) {
      let attempt: Socket | undefined;
      // Typed as void, it gives the socket; without it only `close` would be slower.
      const made: unknown = build(options, (...result) => {
        if (attempt) connecting.delete(attempt);
        const [, socket] = result;
        if (socket) watch(socket);
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
      const number = ++dispatched;
      return (error) => {
        const readAt = typeof error === "object" && error ? lastReadAt.get(error) : undefined;
        return readAt !== undefined && readAt < number;
      };
    },
    close() {
      for (const socket of connecting) socket.destroy(new Error("stopped"));
    },
  };
}
