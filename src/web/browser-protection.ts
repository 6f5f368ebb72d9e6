import { isIP } from "node:net";
import type { FastifyRequest } from "fastify";
import type { Problem } from "./api/problem.ts";
import type { RefusedProblem } from "./refusals.ts";

/** Of every response. A route adds to the policy what its page needs, and allows a client to keep what has an ETag. */
export const strictHeaders = {
  "content-security-policy": "default-src 'none'; frame-ancestors 'none'",
  "x-content-type-options": "nosniff",
  "referrer-policy": "no-referrer",
  "cross-origin-resource-policy": "same-origin",
  "cache-control": "no-store",
};

export interface KnownAddresses {
  /** Host names in lower case that are accepted, beside addresses and `localhost`. */
  readonly allowedHosts: readonly string[];
  /** The address at which people reach this server, if that is known. */
  readonly externalUrl: string | null;
}

/**
 * Prevents pages of other sites from using this server through a user's browser. The Host must be a known
 * name, which prevents DNS rebinding, and the Origin and what the browser says of it must be this address.
 *
 * @returns null when the request is allowed
 */
export function checkSender(
  request: Pick<FastifyRequest, "method" | "headers" | "raw">,
  { allowedHosts, externalUrl }: KnownAddresses,
): RefusedProblem | null {
  // Of several, a proxy in front may look at another one than we do (RFC 9112, section 3.2).
  if (request.raw.headersDistinct["host"]?.length !== 1) {
    return { status: 400, detail: "A request has one Host.", reason: "host" };
  }
  const { host = "", origin } = request.headers;
  // Without its port, and without the brackets of an IPv6 address.
  const [, address, named = ""] = /^(?:\[([^\]]+)\]|([^:[\]]+))(?::\d+)?$/.exec(host) ?? [];
  const name = address ?? named.toLowerCase();
  const external = externalUrl === null ? null : new URL(externalUrl);
  const known = ["localhost", external?.hostname, ...allowedHosts];
  if (isIP(name) === 0 && !known.includes(name)) {
    const detail =
      "Requests for this host name are refused. Use an IP address or localhost, or add the name to http.allowed_hosts in the configuration.";
    return { status: 403, detail, reason: "host" };
  }
  // A proxy in front may request under another Host than the browser's.
  const origins = [undefined, external?.origin];
  const isForeign = !origins.includes(origin) && !isSameOrigin(origin ?? "", request.headers);
  if (!isForeign && isOwnSite(request)) return null;
  const detail = "Requests from pages of other origins are refused.";
  return { status: 403, detail, reason: "origin" };
}

/** A page can send forms to other sites, but not JSON. */
export function checkJson({ headers }: Pick<FastifyRequest, "headers">): Problem | null {
  if (/^application\/json\s*(?:;|$)/i.test(headers["content-type"] ?? "")) return null;
  return { status: 415, detail: "Send JSON, with content-type: application/json." };
}

/**
 * Whether a request is not from a page of another origin, as far as the browser says so. A link from such a page may be
 * followed; images, scripts, frames and event streams of it cost something here, although the page cannot read them.
 */
function isOwnSite({ method, headers }: Pick<FastifyRequest, "method" | "headers">): boolean {
  const site = headers["sec-fetch-site"] ?? "none";
  if (site === "same-origin" || site === "none") return true;
  return method === "GET" && headers["sec-fetch-dest"] === "document";
}

/**
 * Over https too, where something in front of this server speaks it. Such a proxy may request under a Host with its own
 * port, or with none: then the name must be the same, and the browser must not say that the page is of another port.
 */
function isSameOrigin(origin: string, headers: FastifyRequest["headers"]): boolean {
  const { host = "", "sec-fetch-site": site } = headers;
  if (!URL.canParse(origin)) return false;
  const { protocol, host: from, hostname } = new URL(origin);
  const own = URL.parse(`${protocol}//${host}`);
  if (!/^https?:$/.test(protocol) || !own) return false;
  if (own.host === from) return true;
  const isOwnPort = site === "same-origin" || (site === undefined && !/:\d+$/.test(host));
  return own.hostname === hostname && isOwnPort;
}
