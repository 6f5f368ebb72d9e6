import * as http from "node:http";
import * as https from "node:https";
import { isIPv6, type Socket } from "node:net";
import type { SecureContext } from "node:tls";
import { isInNetworks, isLoopback, networkAround, type Network } from "./networks.ts";
import type { Secret } from "./secret.ts";

/** A forward proxy. */
export interface Proxy {
  /** http or https, perhaps with a user name and a password. */
  readonly url: Secret;
  /** What is connected to directly. */
  readonly noProxy: readonly NoProxyEntry[];
}

export interface NoProxyEntry {
  /** Undefined: `domain` applies. */
  readonly network: Network | undefined;
  /** A host and those below it; empty: every host. */
  readonly domain: string;
  /** Empty: every port. */
  readonly port: string;
}

export interface Destination {
  readonly protocol: string;
  /** IPv6 without brackets. */
  readonly hostname: string;
  /** Empty: that of the protocol. */
  readonly port: string;
  /** Default: with https only. */
  readonly viaProxy?: boolean;
}

const longestEntry = 300;

/**
 * Reads what curl takes in `NO_PROXY`: `*`, `example.com` with the hosts below it, also written `.example.com` or
 * `*.example.com`, an address, a network such as `10.0.0.0/8`, which may be written by any address in it, each perhaps
 * with a port. Undefined for anything else.
 */
export function parseNoProxyEntry(text: string): NoProxyEntry | undefined {
  // The patterns below would take long for very long texts, which are no names of hosts.
  if (text.length > longestEntry) return undefined;
  const whole = networkAround(text);
  if (whole) return { network: whole, domain: "", port: "" };
  const [, bracketed, plain = "", port = ""] =
    /^(?:\[([^\]]+)\]|([^:]+))(?::([1-9]\d{0,4}))?$/.exec(text) ?? [];
  if (Number(port) > 65_535) return undefined;
  const network = networkAround(bracketed ?? plain);
  if (network || plain === "*") return { network, domain: "", port };
  const [, domain] = /^(?:\*?\.)?((?:[\w-]+\.)*[\w-]*[A-Za-z_][\w-]*)\.?$/.exec(plain) ?? [];
  return domain === undefined ? undefined : { network, domain: domain.toLowerCase(), port };
}

export function destinationOf({ protocol, hostname, port }: URL): Destination {
  return { protocol, hostname: hostname.replace(/^\[|\]$/g, ""), port };
}

/** Nothing to this machine goes through a proxy. */
export function isProxied(
  { noProxy }: Proxy,
  { protocol, hostname, port, viaProxy = protocol === "https:" }: Destination,
): boolean {
  const host = hostname.replace(/\.$/, "").toLowerCase();
  if (!viaProxy || isLoopback(host)) return false;
  return !noProxy.some((entry) => {
    if (entry.port !== "" && entry.port !== (port || "443")) return false;
    if (entry.network) return isInNetworks(host, [entry.network]);
    return entry.domain === "" || `.${host}`.endsWith(`.${entry.domain}`);
  });
}

/** No connection was made through the proxy. The message names no address. */
export class ProxyError extends Error {
  readonly reason: "timeout" | "network";

  constructor(message: string, reason: ProxyError["reason"] = "network") {
    super(message);
    this.reason = reason;
  }
}

/**
 * Connects through the proxy (RFC 9110, section 9.3.6). It rejects with a `ProxyError`.
 *
 * @param secureContext for a proxy with https. Undefined: the certificates that Node.js trusts
 */
export function openTunnel(
  { url }: Proxy,
  to: Destination,
  timeoutMs: number,
  signal: AbortSignal,
  secureContext?: SecureContext,
): Promise<Socket> {
  const { protocol, hostname, port: proxyPort, username, password } = new URL(url.reveal());
  const host = isIPv6(to.hostname) ? `[${to.hostname}]` : to.hostname;
  const authority = `${host}:${to.port || 443}`;
  const credentials = [username, password].map(decodeURIComponent).join(":");
  const late = AbortSignal.timeout(timeoutMs);
  return new Promise((resolve, reject) => {
    const request = (protocol === "https:" ? https : http).request({
      method: "CONNECT",
      host: hostname.replace(/^\[|\]$/g, ""),
      port: proxyPort || null,
      path: authority,
      agent: false,
      headers: {
        host: authority,
        ...(credentials !== ":" && {
          "proxy-authorization": `Basic ${Buffer.from(credentials).toString("base64")}`,
        }),
      },
      ...(secureContext && { secureContext }),
    });
    const ending = AbortSignal.any([signal, late]);
    const end = (): void => {
      request.destroy(
        late.aborted
          ? new ProxyError("the proxy did not answer in time", "timeout")
          : new ProxyError("stopped"),
      );
    };
    ending.addEventListener("abort", end);
    request.on("connect", ({ statusCode = 0 }, socket: Socket, head) => {
      ending.removeEventListener("abort", end);
      if (statusCode < 200 || statusCode > 299) {
        socket.destroy();
        return reject(new ProxyError(whyRefused(statusCode)));
      }
      // A server may have spoken already, as those of SMTP do.
      socket.unshift(head);
      resolve(socket);
    });
    request.on("error", (error) => {
      ending.removeEventListener("abort", end);
      reject(error instanceof ProxyError ? error : connectionError(error));
    });
    if (ending.aborted) end();
    request.end();
  });
}

function whyRefused(status: number): string {
  // Tinyproxy answers wrong credentials with 401.
  if (status === 407 || status === 401) {
    return `the proxy requires a valid user name and password (HTTP ${status})`;
  }
  return `the proxy refused the connection (HTTP ${status})`;
}

function connectionError(error: Error): ProxyError {
  const code = "code" in error ? String(error.code) : "no code";
  if (code === "ECONNRESET") return new ProxyError("the proxy closed the connection");
  if (code.startsWith("HPE_")) return new ProxyError(`the proxy does not speak HTTP (${code})`);
  const reason = code === "ETIMEDOUT" ? "timeout" : "network";
  return new ProxyError(`the proxy cannot be reached (${code})`, reason);
}
