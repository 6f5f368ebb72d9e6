import { isIP } from "node:net";
import { isInNetworks, type Network } from "../lib/networks.ts";

/**
 * The address of who sent a request: that of the connection, or the last one that a trusted proxy states and that is no
 * trusted proxy itself. What comes before it could have been sent by anyone.
 *
 * @param forwardedFor all values of `X-Forwarded-For`
 */
export function senderAddress(
  address: string,
  forwardedFor: readonly string[],
  trusted: readonly Network[],
): string {
  const hops = forwardedFor.join(",").split(",");
  let sender = address;
  while (isInNetworks(sender, trusted)) {
    const hop = withoutPort(hops.pop()?.trim() ?? "");
    if (isIP(hop) === 0) return sender;
    sender = hop;
  }
  return sender;
}

/** Some proxies state the port of the connection, too. */
function withoutPort(hop: string): string {
  const [, bracketed, plain] = /^(?:\[([^\]]+)\]|([\d.]+))(?::\d+)?$/.exec(hop) ?? [];
  return bracketed ?? plain ?? hop;
}
