import { lookup } from "node:dns";
import { createServer, type Socket } from "node:net";
import { RequestError, Server } from "proxy-chain";
import { onTestFinished } from "vitest";
import type { Route } from "../../src/lib/connector.ts";
import { Secret } from "../../src/lib/secret.ts";
import { listenOnLoopback } from "./listen.ts";
import { ca, cert, key } from "./private-ca.ts";

interface ProxySettings {
  /** `user:password` */
  readonly credentials?: string;
  readonly isSecure?: boolean;
}

/** Every name is this machine. */
const dnsLookup = new Proxy(lookup, {
  apply: (target, self, [, ...rest]: readonly unknown[]) =>
    Reflect.apply(target, self, ["127.0.0.1", ...rest]),
});

/** A forward proxy, gone when the test ends. */
export async function startForwardProxy({ credentials, isSecure = false }: ProxySettings = {}) {
  const asked: string[] = [];
  let refusal: number | null = null;
  const proxy = new Server({
    port: 0,
    host: "127.0.0.1",
    ...(isSecure ? { serverType: "https", httpsOptions: { key, cert } } : { serverType: "http" }),
    prepareRequestFunction({ hostname, port, username, password }) {
      asked.push(`${hostname}:${port}`);
      if (refusal !== null) throw new RequestError("refused", refusal);
      const isKnown = credentials === undefined || credentials === `${username}:${password}`;
      return { requestAuthentication: !isKnown, dnsLookup };
    },
  });
  await proxy.listen();
  onTestFinished(() => proxy.close(true));
  const at = `127.0.0.1:${proxy.port}`;
  const user = credentials === undefined ? "" : `${credentials}@`;
  return {
    url: `${isSecure ? "https" : "http"}://${user}${at}`,
    /** The same without credentials. */
    at,
    /** The hosts and ports that it was asked to connect to. */
    asked: asked as readonly string[],
    /** From now on it answers with this status; null: it connects. */
    refuse: (status: number | null) => void (refusal = status),
  };
}

/** Through this proxy, with trust in the private authority. */
export function routeThrough(url: string): Route {
  return { proxy: { url: new Secret(url), noProxy: [] }, ca };
}

/** What is no proxy, but accepts connections. Gives its address. */
export async function startBrokenProxy(onData: (socket: Socket) => void): Promise<string> {
  const server = createServer((socket) => {
    socket.on("error", () => {});
    socket.once("data", () => onData(socket));
  });
  return `http://127.0.0.1:${await listenOnLoopback(server)}`;
}
