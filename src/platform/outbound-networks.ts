import { contains, embeddedIn, parseAddress, parseNetwork } from "./networks.ts";
import type { Network } from "./networks.ts";

/** Where receivers may be reached, as configured. */
export interface OutboundNetworks {
  readonly deny: readonly Network[];
  /** Null: everywhere. */
  readonly allow: readonly Network[] | null;
}

export const anyNetwork: OutboundNetworks = { deny: [], allow: null };

/** No configuration opens these: no receiver lives there, but much that must not be written to. */
const neverReached: readonly (readonly [what: string, ...networks: string[]])[] = [
  // AWS, Google, Scaleway; Alibaba, Oracle, Azure. Most others use 169.254.169.254.
  ["a metadata service", "169.254.169.254", "fd00:ec2::/32", "fd20:ce::254", "fd00:42::42"],
  ["a metadata service", "100.100.100.200", "192.0.0.192", "168.63.129.16"],
  ["a link-local address", "169.254.0.0/16", "fe80::/10"],
  // Linux takes it for the machine itself.
  ["the unspecified address", "0.0.0.0", "::"],
  ["a multicast or broadcast address", "224.0.0.0/4", "ff00::/8", "255.255.255.255"],
];

const alwaysDenied = neverReached.flatMap(([what, ...texts]) =>
  texts.flatMap((text) => {
    const network = parseNetwork(text);
    return network ? [{ what, network }] : [];
  }),
);

/** What a network is of which no configuration opens any part; undefined: it is none such. */
export function whatIsNeverReached(network: Network): string | undefined {
  return alwaysDenied.find((denied) => contains(denied.network, network))?.what;
}

/**
 * Why nothing may be sent to an address; null: it may. An IPv6 address that stands for an IPv4 one is
 * denied with it.
 */
export function whyDenied(text: string, { deny, allow }: OutboundNetworks): string | null {
  const address = parseAddress(text);
  if (!address) return "no address";
  const embedded = embeddedIn(address);
  const forms = embedded ? [address, embedded] : [address];
  const what = forms.map(whatIsNeverReached).find((each) => each !== undefined);
  if (what !== undefined) return what;
  const isIn = (form: Network) => (network: Network) => contains(network, form);
  if (forms.some((form) => deny.some(isIn(form)))) return "denied by deny_networks";
  return allow === null || allow.some(isIn(address)) ? null : "not among allow_networks";
}
