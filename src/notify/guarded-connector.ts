import { lookup as systemLookup } from "node:dns";
import { once } from "node:events";
import { connect as connectSocket, isIP, Socket, type LookupFunction } from "node:net";
import { buildConnector } from "undici";
import { whyDenied, type OutboundNetworks } from "../lib/networks.ts";

/** A receiver's host has an address to which nothing may be sent. It names no address. */
export class DeniedAddressError extends Error {
  readonly why: string;

  constructor(why: string) {
    super("the receiver's host has an address that is denied");
    this.why = why;
  }
}

const connectTimeoutMs = 10_000;

/**
 * Connects only to addresses that are allowed. A name is resolved once for each connection, and connected to is what was
 * checked: a second answer of the resolver changes nothing.
 */
export function createGuardedConnector(
  networks: OutboundNetworks,
  lookup: LookupFunction = systemLookup,
) {
  const connecting = new Set<Socket>();
  const build = buildConnector({
    timeout: connectTimeoutMs,
    // HTTP/1.1 alone: what happens to its connections is known and tested.
    allowH2: false,
    lookup: checkedLookup(networks, lookup),
  });
  const connect: buildConnector.connector = (options, callback) => {
    // A literal address is never looked up.
    const why = isIP(options.hostname) === 0 ? null : whyDenied(options.hostname, networks);
    if (why !== null) {
      queueMicrotask(() => callback(new DeniedAddressError(why), null));
      return;
    }
    // Typed as void, it gives the socket; without it only `close` would be slower.
    const socket: unknown = build(options, (...result) => {
      if (socket instanceof Socket) connecting.delete(socket);
      callback(...result);
    });
    if (socket instanceof Socket) connecting.add(socket);
  };
  /** The same for what is not HTTP. It rejects when the signal aborts before there is a connection. */
  const connectTcp = async (host: string, port: number, signal: AbortSignal): Promise<Socket> => {
    const why = isIP(host) === 0 ? null : whyDenied(host, networks);
    if (why !== null) throw new DeniedAddressError(why);
    const socket = connectSocket({ host, port, lookup: checkedLookup(networks, lookup) });
    connecting.add(socket);
    try {
      await once(socket, "connect", { signal });
      return socket;
    } catch (error) {
      socket.destroy();
      throw error;
    } finally {
      connecting.delete(socket);
    }
  };
  return {
    connect,
    connectTcp,
    /** Ends the connections that are still being made: undici does not. */
    close(): void {
      for (const socket of connecting) socket.destroy(new Error("stopped"));
    },
  };
}

/** One denied address among several denies the host: which one is used would be a matter of luck. */
function checkedLookup(networks: OutboundNetworks, lookup: LookupFunction): LookupFunction {
  return (hostname, options, callback) => {
    lookup(hostname, { ...options, all: true }, (error, found, family) => {
      if (error) return callback(error, []);
      const addresses =
        typeof found === "string" ? [{ address: found, family: family ?? isIP(found) }] : found;
      const [first] = addresses;
      if (!first) return callback(new Error("the host has no address"), []);
      for (const { address } of addresses) {
        const why = whyDenied(address, networks);
        if (why !== null) return callback(new DeniedAddressError(why), []);
      }
      if (options.all === true) return callback(null, addresses);
      return callback(null, first.address, first.family);
    });
  };
}
