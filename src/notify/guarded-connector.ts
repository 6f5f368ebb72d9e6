import { lookup as systemLookup } from "node:dns";
import { isIP, type LookupFunction, type Socket } from "node:net";
import type { buildConnector } from "undici";
import { createConnector, directRoute, type ConnectOptions, type Route } from "../lib/connector.ts";
import { whyDenied, type OutboundNetworks } from "../lib/networks.ts";
import type { Destination } from "../lib/proxy.ts";

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
 * checked: a second answer of the resolver changes nothing. A proxy resolves names by itself. Those are resolved here
 * too if networks are configured, and what cannot be resolved is not connected to.
 */
export function createGuardedConnector(
  networks: OutboundNetworks,
  lookup: LookupFunction = systemLookup,
  route: Route = directRoute,
) {
  const checkedLookup = createCheckedLookup(networks, lookup);
  const isLimited = networks.allow !== null || networks.deny.length > 0;
  const connector = createConnector({
    ...route,
    timeoutMs: connectTimeoutMs,
    lookup: checkedLookup,
  });
  /** Why nothing may be sent to a host, as far as that is not seen when it is resolved later. */
  const check = async (to: Destination): Promise<Error | null> => {
    const { hostname } = to;
    if (isIP(hostname) !== 0) {
      // It is never looked up.
      const why = whyDenied(hostname, networks);
      return why === null ? null : new DeniedAddressError(why);
    }
    if (!isLimited || !connector.isProxied(to)) return null;
    return new Promise((resolve) => checkedLookup(hostname, { all: true }, resolve));
  };
  return {
    ...connector,
    async connect(options: ConnectOptions, callback: buildConnector.Callback): Promise<void> {
      const error = await check(options);
      if (error) callback(error, null);
      else connector.connect(options, callback);
    },
    /** The same for what is not HTTP. It rejects when the signal aborts before there is a connection. */
    async connectTcp(to: Destination, signal: AbortSignal): Promise<Socket> {
      const error = await check(to);
      if (error) throw error;
      return connector.connectTcp(to, signal);
    },
  };
}

/** One denied address among several denies the host: which one is used would be a matter of luck. */
function createCheckedLookup(networks: OutboundNetworks, lookup: LookupFunction): LookupFunction {
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
