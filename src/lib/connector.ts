import { once } from "node:events";
import { connect as connectSocket, Socket, type LookupFunction } from "node:net";
import { createSecureContext, getCACertificates, type SecureContext } from "node:tls";
import { buildConnector } from "undici";
import { asError } from "./as-error.ts";
import { isProxied, openTunnel, type Destination, type Proxy } from "./proxy.ts";

/** How other machines are reached. */
export interface Route {
  /** Null: directly. */
  readonly proxy: Proxy | null;
  /** Certificates in PEM that are trusted besides those that Node.js trusts; null: none. */
  readonly ca: string | null;
}

export const directRoute: Route = { proxy: null, ca: null };

interface ConnectorOptions extends Partial<Route> {
  /** For each connection, with its TLS handshake. */
  readonly timeoutMs: number;
  /** For each tunnel through the proxy. Default: `timeoutMs` */
  readonly tunnelTimeoutMs?: number;
  /** Resolves the names of hosts that are connected to directly. Default: the system's resolver. */
  readonly lookup?: LookupFunction | undefined;
}

export type ConnectOptions = buildConnector.Options & Pick<Destination, "viaProxy">;
export type Connector = ReturnType<typeof createConnector>;

/** Opens connections for undici and others. */
export function createConnector({
  timeoutMs,
  tunnelTimeoutMs = timeoutMs,
  lookup,
  proxy = null,
  ca = null,
}: ConnectorOptions) {
  const secureContext = ca === null ? undefined : trustingAlso(ca);
  const build = buildConnector({
    timeout: timeoutMs,
    // HTTP/1.1 alone: what happens to its connections is known and tested.
    allowH2: false,
    ...(lookup && { lookup }),
    ...(secureContext && { secureContext }),
  });
  const connecting = new Set<Socket>();
  const closing = new AbortController();

  const connectDirectly: buildConnector.connector = (options, callback) => {
    // Typed as void, it gives the socket; without it only `close` would be slower.
    const socket: unknown = build(options, (...result) => {
      if (socket instanceof Socket) connecting.delete(socket);
      callback(...result);
    });
    if (socket instanceof Socket) connecting.add(socket);
  };
  const tunnel = (through: Proxy, to: Destination, signal = closing.signal) =>
    openTunnel(through, to, tunnelTimeoutMs, signal, secureContext);
  const connectThrough = async (
    through: Proxy,
    options: ConnectOptions,
    callback: buildConnector.Callback,
  ): Promise<void> => {
    const httpSocket = await tunnel(through, options).catch(asError);
    if (httpSocket instanceof Error) callback(httpSocket, null);
    else if (options.protocol === "https:") connectDirectly({ ...options, httpSocket }, callback);
    else callback(null, httpSocket);
  };

  return {
    /** The certificates that are trusted, for TLS over another connection. Undefined: those that Node.js trusts. */
    secureContext,
    isProxied: (to: Destination): boolean => proxy !== null && isProxied(proxy, to),
    connect(options: ConnectOptions, callback: buildConnector.Callback): void {
      if (proxy && isProxied(proxy, options)) void connectThrough(proxy, options, callback);
      else connectDirectly(options, callback);
    },
    /** A connection without TLS for another protocol than HTTP. It rejects when the signal aborts before there is one. */
    async connectTcp(to: Destination, signal: AbortSignal): Promise<Socket> {
      const ending = AbortSignal.any([signal, closing.signal]);
      if (proxy && isProxied(proxy, to)) return tunnel(proxy, to, ending);
      const address = { host: to.hostname, port: Number(to.port) };
      const socket = connectSocket({ ...address, ...(lookup && { lookup }) });
      try {
        await once(socket, "connect", { signal: ending });
        return socket;
      } catch (error) {
        socket.destroy();
        throw error;
      }
    },
    /** Ends the connections that are still being made: undici does not. */
    close(): void {
      closing.abort();
      for (const socket of connecting) socket.destroy(new Error("stopped"));
    },
  };
}

/** Reading all certificates takes 20 ms and 1.5 MB, and regions and receivers usually trust the same. */
let latest: { readonly ca: string; readonly secureContext: SecureContext } | undefined;

function trustingAlso(ca: string): SecureContext {
  if (latest?.ca !== ca) {
    latest = { ca, secureContext: createSecureContext({ ca: [...getCACertificates(), ca] }) };
  }
  return latest.secureContext;
}
