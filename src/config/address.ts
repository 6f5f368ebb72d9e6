import { isIPv4, isIPv6 } from "node:net";
import { everyInterface } from "../lib/listen-address.ts";
import type { ListenAddress } from "../lib/listen-address.ts";
import { isLoopback } from "../lib/networks.ts";

/** As lenient as `new URL`, which ignores control characters and spaces before an address. */
export const webAddressLike = /^[^!-~]*[Hh][Tt][Tt][Pp][Ss]?:/;
export const baseUrlLike = /^[^!-~]*[Hh][Tt][Tt][Pp][Ss]?:[^?#]*$/;

/** An http or https address; undefined for anything else, and for one with a user or password. */
export function parseWebAddress(text: string): URL | undefined {
  const url = URL.parse(text);
  if (!url || !/^https?:$/.test(url.protocol)) return undefined;
  return url.username === "" && url.password === "" ? url : undefined;
}

/** A web address without query and fragment, to which the path of an operation can be appended. */
export function parseBaseUrl(text: string): string | undefined {
  const url = /[?#]/.test(text) ? undefined : parseWebAddress(text);
  return url?.href.replace(/\/+$/, "");
}

/** Plain http would show secrets to anyone on the way, unless there is no way. */
export function leavesUnencrypted(url: URL): boolean {
  return url.protocol === "http:" && !isLoopback(url.hostname);
}

export const listenPattern = /^(?:\[([^\]]+)\]|([A-Za-z0-9.-]*)):(\d{1,5})$/;

/** Reads `127.0.0.1:9740`, `[::1]:9740`, and `:9740` for every interface. Port 0: any free one. */
export function parseListenAddress(text: string): ListenAddress | undefined {
  const match = listenPattern.exec(text);
  if (!match) return undefined;
  const [, ipv6, name, digits] = match;
  const port = Number(digits);
  if (port > 65_535 || (ipv6 !== undefined && !isIPv6(ipv6))) return undefined;
  // As in a URL, a name that ends in a number is an IPv4 address.
  if (name !== undefined && /(?:^|\.)\d+$/.test(name) && !isIPv4(name)) return undefined;
  return { host: ipv6 ?? (name || everyInterface), port };
}
