import { isIP } from "node:net";
import type { FastifyRequest } from "fastify";
import type { Problem } from "./problem.ts";

/**
 * The API has no log-in: whoever reaches it may use it. What must not reach it is a page of somebody
 * else's in the browser of a person who does. A page can send what looks like a form, which is why
 * only JSON is taken; it says where it came from, and must have come from here; and a name that was
 * made to lead here (DNS rebinding) is not among those that may.
 *
 * @param allowedHosts names in lower case, beside addresses and `localhost`
 * @returns null when the request may pass
 */
export function checkRequest(
  request: Pick<FastifyRequest, "method" | "headers" | "is404">,
  allowedHosts: readonly string[],
): Problem | null {
  const problem = checkSender(request, allowedHosts);
  const { method, headers, is404 } = request;
  // Of what there is not, that is what there is to say.
  if (problem || is404 || method === "GET" || method === "HEAD") return problem;
  return /^application\/json\s*(?:;|$)/i.test(headers["content-type"] ?? "")
    ? null
    : { status: 415, detail: "Send JSON, with content-type: application/json." };
}

/** The same, but for what it sends. */
export function checkSender(
  { method, headers }: Pick<FastifyRequest, "method" | "headers">,
  allowedHosts: readonly string[],
): Problem | null {
  const { host = "", origin } = headers;
  const name = hostName(host);
  if (name === null || !isOwnName(name, allowedHosts)) {
    const detail =
      "This host name is not known here. Use an IP address or localhost, or add the name to http.allowed_hosts in the configuration.";
    return { status: 403, detail };
  }
  if (method === "GET" || method === "HEAD") return null;
  if (origin !== undefined && !isSameOrigin(origin, host)) {
    const detail = "Pages of other addresses may not change anything here: the Origin is another.";
    return { status: 403, detail };
  }
  return null;
}

/**
 * What changes nothing here, but uses up the limit of a key, a page of somebody else's could ask for
 * without being let read what comes. A browser says where a request comes from.
 */
export function checkSite({ headers }: Pick<FastifyRequest, "headers">): Problem | null {
  const site = headers["sec-fetch-site"] ?? "none";
  if (site === "same-origin" || site === "none") return null;
  return { status: 403, detail: "Pages of other addresses may not look anything up here." };
}

/** Without its port, and without the brackets of an IPv6 address. */
function hostName(host: string): string | null {
  const match = /^(?:\[([^\]]+)\]|([^:[\]]+))(?::\d+)?$/.exec(host);
  return match?.[1] ?? match?.[2]?.toLowerCase() ?? null;
}

function isOwnName(name: string, allowedHosts: readonly string[]): boolean {
  return isIP(name) !== 0 || name === "localhost" || allowedHosts.includes(name);
}

/** Over https too, where something in front of this server speaks it. */
function isSameOrigin(origin: string, host: string): boolean {
  if (!URL.canParse(origin)) return false;
  const { protocol, host: from } = new URL(origin);
  const own = `${protocol}//${host}`;
  return /^https?:$/.test(protocol) && URL.canParse(own) && new URL(own).host === from;
}
