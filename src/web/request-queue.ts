import type { IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";

type Handler = (request: IncomingMessage, response: ServerResponse) => void;

/** Requests of one connection that may wait for the response to an earlier one. */
export const mostPipelined = 16;

/**
 * Handles one request of a connection at a time. Node.js begins to handle each as soon as it has arrived, and holds the
 * responses until the earlier ones are sent, so that a client that sends thousands at once costs as much as thousands of
 * clients. A connection on which more requests wait is closed.
 *
 * @param onTooMany a connection was closed for it
 */
export function oneAtATime(handler: Handler, onTooMany: (socket: Socket) => void): Handler {
  const requests = new WeakMap<Socket, (() => void)[]>();
  return (request, response) => {
    const { socket } = request;
    if (socket.destroyed) return;
    const queue = requests.get(socket) ?? [];
    if (queue.length > mostPipelined) {
      socket.destroy();
      return onTooMany(socket);
    }
    requests.set(socket, queue);
    queue.push(() => handler(request, response));
    response.once("close", () => {
      queue.shift();
      if (!socket.destroyed) queue[0]?.();
    });
    if (queue.length === 1) queue[0]?.();
  };
}
