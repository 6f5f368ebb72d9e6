import { once } from "node:events";
import { createServer } from "node:net";

/** An address at which nothing listens any more. */
export async function freeAddress(): Promise<string> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const bound = server.address();
  server.close();
  await once(server, "close");
  return `127.0.0.1:${typeof bound === "object" && bound ? bound.port : 0}`;
}
