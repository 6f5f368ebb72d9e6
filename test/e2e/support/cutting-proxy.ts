import { once } from "node:events";
import { connect, createServer, type Socket } from "node:net";
import { onTestFinished } from "vitest";

/** What to do with a connection when a part of it comes from the client. */
export type Cut = "before" | "after" | null;

/**
 * Passes connections on to PostgreSQL, without looking into them but for what is to be cut: `before` the part reaches the
 * server, or `after` it was passed on, so that the server carries it out and its answer is lost.
 *
 * @param cutAt asked for each part that the client sends
 */
export async function startCuttingProxy(
  target: { readonly host: string; readonly port: number },
  cutAt: (part: string) => Cut,
): Promise<{ readonly port: number; refuse(isRefused: boolean): void }> {
  const sockets = new Set<Socket>();
  let isRefusing = false;
  const server = createServer((client) => {
    if (isRefusing) return void client.destroy();
    const upstream = target.host.startsWith("/")
      ? connect(`${target.host}/.s.PGSQL.${target.port}`)
      : connect(target);
    const both = [client, upstream];
    const cut = (): void => both.forEach((each) => void each.destroy());
    for (const each of both) {
      sockets.add(each);
      each.on("error", cut);
      each.on("close", cut);
    }
    upstream.on("data", (data) => void client.write(data));
    client.on("data", (data) => {
      const decision = cutAt(data.toString("latin1"));
      if (decision === "before") return cut();
      if (decision === null) return void upstream.write(data);
      // The server gets it whole, and nothing of its answer comes back.
      upstream.removeAllListeners("data");
      upstream.resume();
      client.removeListener("close", cut);
      upstream.end(data);
      client.destroy();
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => {
    for (const each of sockets) each.destroy();
    server.close();
  });
  const address = server.address();
  if (typeof address !== "object" || !address) throw new TypeError("not listening on a port");
  return { port: address.port, refuse: (next) => void (isRefusing = next) };
}
