import { once } from "node:events";
import { connect, createServer, type Socket } from "node:net";

/** What to do with a connection when a part of it comes from the client. */
export type Cut = "before" | "after" | "hold" | null;

export type Way = "to server" | "to client";

interface Target {
  readonly host: string;
  readonly port: number;
}

export interface PostgresProxy {
  readonly port: number;
  /** Where connections from now on go. */
  redirect(to: Target): void;
  /** From now on connections are refused, or not. */
  refuse(isRefused: boolean): void;
  /** Nothing passes any more and no connection ends: a network that is cut off. Default: in either direction. */
  hold(ways?: readonly Way[]): void;
  /** The same for the connections that there are, as when a firewall forgets them: others can be made. */
  strand(ways?: readonly Way[]): void;
  /** From now on each part takes so long, in either direction. */
  delay(ms: number): void;
  /** What was held passes, and everything after it. */
  release(): void;
  /** The same for the connection on which a part was held. */
  releasePart(): void;
  /** Ends every connection. */
  drop(): void;
  close(): Promise<void>;
}

const both: readonly Way[] = ["to server", "to client"];

interface Pair {
  readonly client: Socket;
  readonly upstream: Socket;
  /** What the client sent and must not pass yet. */
  kept: Buffer | null;
  /** Its end does not pass either. */
  isHeld: boolean;
}

/**
 * Passes connections on to PostgreSQL, without looking into them but for what is to be cut: `before` the part reaches the
 * server; `after` it was passed on, so that the server carries it out and its answer is lost; or all is held from it on.
 *
 * @param cutAt asked for each part that the client sends
 */
export async function startPostgresProxy(
  first: Target,
  cutAt: (part: string) => Cut = () => null,
): Promise<PostgresProxy> {
  const pairs = new Set<Pair>();
  let target = first;
  let isRefusing = false;
  let held: readonly Way[] = [];
  let delayMs = 0;
  const end = (pair: Pair): void => {
    pairs.delete(pair);
    for (const each of [pair.client, pair.upstream]) each.destroy();
  };
  const strand = (ways: readonly Way[] = both): void => {
    for (const pair of pairs) {
      pair.isHeld = true;
      if (ways.includes("to server")) pair.client.pause();
      if (ways.includes("to client")) pair.upstream.pause();
    }
  };
  const hold = (ways: readonly Way[] = both): void => {
    held = ways;
    strand(ways);
  };
  /** What was delayed more than what comes after it passes with it: nothing overtakes. */
  const passOnTo = (to: Socket): ((data: Buffer) => void) => {
    const waiting: Buffer[] = [];
    return (data) => {
      if (delayMs === 0 && waiting.length === 0) return void to.write(data);
      waiting.push(data);
      setTimeout(() => {
        const next = waiting.shift();
        if (next && to.writable) to.write(next);
      }, delayMs);
    };
  };
  const server = createServer((client) => {
    if (isRefusing) return void client.destroy();
    const upstream = target.host.startsWith("/")
      ? connect(`${target.host}/.s.PGSQL.${target.port}`)
      : connect(target);
    const pair: Pair = { client, upstream, kept: null, isHeld: false };
    pairs.add(pair);
    const cut = (): void => {
      if (pair.isHeld) return;
      if (delayMs === 0) end(pair);
      else setTimeout(() => end(pair), delayMs);
    };
    const [passToServer, passToClient] = [passOnTo(upstream), passOnTo(client)];
    for (const each of [client, upstream]) {
      each.on("error", cut);
      each.on("close", cut);
    }
    upstream.on("data", passToClient);
    client.on("data", (data) => {
      const decision = cutAt(data.toString("latin1"));
      if (decision === "before") return cut();
      if (decision === null) return passToServer(data);
      if (decision === "hold") {
        pair.kept = data;
        return hold();
      }
      // The server gets it whole, and nothing of its answer comes back.
      upstream.removeAllListeners("data");
      upstream.resume();
      client.removeListener("close", cut);
      upstream.end(data);
      client.destroy();
    });
    if (held.length > 0) hold(held);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  if (typeof address !== "object" || !address) throw new TypeError("not listening on a port");
  const release = (pair: Pair): void => {
    if (pair.client.destroyed || pair.upstream.destroyed) return end(pair);
    if (pair.kept) pair.upstream.write(pair.kept);
    pair.kept = null;
    pair.isHeld = false;
    pair.client.resume();
    pair.upstream.resume();
  };
  const drop = (): void => pairs.forEach(end);
  return {
    port: address.port,
    redirect: (to) => void (target = to),
    refuse: (next) => void (isRefusing = next),
    hold,
    strand,
    delay: (ms) => void (delayMs = ms),
    release() {
      held = [];
      pairs.forEach(release);
    },
    releasePart: () => [...pairs].filter(({ kept }) => kept !== null).forEach(release),
    drop,
    async close() {
      drop();
      server.close();
      await once(server, "close");
    },
  };
}
