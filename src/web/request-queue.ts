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
      stopParsing(socket);
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

/**
 * Keeps Node.js from parsing the rest of what it received at once, up to 3,600 requests, which takes 0.1 s and several
 * megabytes: 60 such connections grew the process by 700 MiB. A documented way does not exist. The parser takes what
 * follows a request for another protocol if this function returns 2.
 */
function stopParsing(socket: object): void {
  if (!("parser" in socket)) return;
  const { parser } = socket;
  if (typeof parser !== "object" || parser === null || !("onIncoming" in parser)) return;
  parser.onIncoming = () => 2;
}
