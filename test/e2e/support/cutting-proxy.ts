import { connect, createServer, type Socket } from "node:net";
import { onTestFinished } from "vitest";
import { listenOnLoopback } from "../../support/listen.ts";

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
  const upstreams = new Set<Socket>();
  let isRefusing = false;
  const server = createServer((client) => {
    if (isRefusing) return void client.destroy();
    const upstream = target.host.startsWith("/")
      ? connect(`${target.host}/.s.PGSQL.${target.port}`)
      : connect(target);
    const both = [client, upstream];
    const cut = (): void => both.forEach((each) => void each.destroy());
    upstreams.add(upstream);
    for (const each of both) {
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
  const port = await listenOnLoopback(server);
  onTestFinished(() => {
    for (const each of upstreams) each.destroy();
  });
  return { port, refuse: (next) => void (isRefusing = next) };
}
