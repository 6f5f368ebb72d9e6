import { randomInt } from "node:crypto";
import { once } from "node:events";
import { createServer } from "node:net";

/**
 * An address at which nothing listens. Its port is below those that the system chooses, so no program that lets the
 * system choose one takes it before the test uses it.
 */
export async function freeAddress(): Promise<string> {
  const port = randomInt(10_000, 32_000);
  const server = createServer().listen(port, "127.0.0.1");
  try {
    await once(server, "listening");
  } catch {
    return freeAddress();
  }
  server.close();
  await once(server, "close");
  return `127.0.0.1:${port}`;
}
