import { once } from "node:events";
import type { Server } from "node:net";
import { cleanUp } from "./share.ts";

/**
 * Lets a server of any protocol listen on loopback until the test ends, and closes its connections then.
 *
 * @returns its port
 */
export async function listenOnLoopback(server: Server): Promise<number> {
  const sockets = new Set<{ destroy(): void }>();
  server.on("connection", (socket) => sockets.add(socket));
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  cleanUp(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  const address = server.address();
  if (typeof address !== "object" || !address) throw new TypeError("not listening on a port");
  return address.port;
}
