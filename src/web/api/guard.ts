import { isIP } from "node:net";
import type { FastifyRequest } from "fastify";
import type { Problem } from "./problem.ts";

/**
 * The API has no authentication: anyone who reaches it may use it. Pages of other sites in the browser of
 * such a person must not. A page can send forms, so only JSON is accepted; its Origin must be this
 * address; and the Host must be a known name, which prevents DNS rebinding.
 *
 * @param allowedHosts names in lower case, beside addresses and `localhost`
 * @returns null when the request is allowed
 */
export function checkRequest(
  request: Pick<FastifyRequest, "method" | "headers" | "is404">,
  allowedHosts: readonly string[],
): Problem | null {
  const problem = checkSender(request, allowedHosts);
  if (problem || request.is404 || isReading(request)) return problem;
  return /^application\/json\s*(?:;|$)/i.test(request.headers["content-type"] ?? "")
    ? null
    : { status: 415, detail: "Send JSON, with content-type: application/json." };
}

/** Checks Host and Origin only. */
export function checkSender(
  request: Pick<FastifyRequest, "method" | "headers">,
  allowedHosts: readonly string[],
): Problem | null {
  const { host = "", origin } = request.headers;
  // Without its port, and without the brackets of an IPv6 address.
  const [, address, named = ""] = /^(?:\[([^\]]+)\]|([^:[\]]+))(?::\d+)?$/.exec(host) ?? [];
  const name = address ?? named.toLowerCase();
  if (isIP(name) === 0 && name !== "localhost" && !allowedHosts.includes(name)) {
    const detail =
      "Requests for this host name are refused. Use an IP address or localhost, or add the name to http.allowed_hosts in the configuration.";
    return { status: 403, detail };
  }
  if (isReading(request) || origin === undefined || isSameOrigin(origin, host)) return null;
  const detail = "Requests from pages of other origins that change something are refused.";
  return { status: 403, detail };
}

/** A GET that costs something must not come from a page of another site, which a browser states. */
export function checkSite({ headers }: Pick<FastifyRequest, "headers">): Problem | null {
  const site = headers["sec-fetch-site"] ?? "none";
  if (site === "same-origin" || site === "none") return null;
  return { status: 403, detail: "Requests from pages of other origins are refused." };
}

function isReading({ method }: Pick<FastifyRequest, "method">): boolean {
  return method === "GET" || method === "HEAD";
}

/** Over https too, where something in front of this server speaks it. */
function isSameOrigin(origin: string, host: string): boolean {
  if (!URL.canParse(origin)) return false;
  const { protocol, host: from } = new URL(origin);
  const own = `${protocol}//${host}`;
  return /^https?:$/.test(protocol) && URL.canParse(own) && new URL(own).host === from;
}
