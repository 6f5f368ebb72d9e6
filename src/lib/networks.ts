import { isIP } from "node:net";
import ipaddr from "ipaddr.js";

/** A range of addresses: those whose first `prefix` bits are the same. A single address is a range too. */
export interface Network {
  readonly address: ipaddr.IPv4 | ipaddr.IPv6;
  readonly prefix: number;
}

/** The networks in which receivers may be, as configured. */
export interface OutboundNetworks {
  readonly deny: readonly Network[];
  /** Null: everywhere. */
  readonly allow: readonly Network[] | null;
}

export const anyNetwork: OutboundNetworks = { deny: [], allow: null };

/**
 * Reads `10.0.0.0/8`, `fd00::/8` and single addresses. Undefined for anything else, and where bits after the prefix are
 * set. IPv4 written as IPv6 (`::ffff:10.0.0.0/104`) is read as IPv4.
 */
export function parseNetwork(text: string): Network | undefined {
  const network = networkAround(text);
  if (!network) return undefined;
  const written = ipaddr.process(text.replace(/\/.*/, ""));
  return written.toString() === network.address.toString() ? network : undefined;
}

/** The same for a network that is written by any of its addresses, such as `10.1.2.3/8`. */
export function networkAround(text: string): Network | undefined {
  const [written = "", bits, ...more] = text.split("/");
  // ipaddr.js alone would accept the octal, hexadecimal and shortened forms, too.
  if (isIP(written) === 0 || written.includes("%") || more.length > 0) return undefined;
  const address = ipaddr.parse(written);
  const { length } = address.toByteArray();
  const prefix = bits === undefined ? length * 8 : /^\d{1,3}$/.test(bits) ? Number(bits) : Infinity;
  if (prefix > length * 8) return undefined;
  const family = address.kind() === "ipv4" ? ipaddr.IPv4 : ipaddr.IPv6;
  const first = family.networkAddressFromCIDR(`${written}/${prefix}`);
  return first instanceof ipaddr.IPv6 && first.isIPv4MappedAddress() && prefix >= 96
    ? { address: first.toIPv4Address(), prefix: prefix - 96 }
    : { address: first, prefix };
}

/** No setting opens these: no receiver is there, but much that must not be written to. */
const alwaysDenied = [
  // AWS, Google, Scaleway; Alibaba, Oracle, Azure. Most others use 169.254.169.254.
  ["a metadata service", "169.254.169.254", "fd00:ec2::/32", "fd20:ce::254", "fd00:42::42"],
  ["a metadata service", "100.100.100.200", "192.0.0.192", "168.63.129.16"],
  ["a link-local address", "169.254.0.0/16", "fe80::/10"],
  // Linux takes it for the machine itself.
  ["the unspecified address", "0.0.0.0", "::"],
  ["a multicast or broadcast address", "224.0.0.0/4", "ff00::/8", "255.255.255.255"],
].flatMap(([what = "", ...texts]) => networksOf(...texts).map((network) => ({ what, network })));

/** IPv6 ranges that stand for IPv4 addresses, and the byte at which the IPv4 address begins. */
const embeddings = [
  // IPv4-compatible; RFC 7915; NAT64, RFC 6052 and RFC 8215
  ...networksOf("::/96", "::ffff:0:0:0/96", "64:ff9b::/96", "64:ff9b:1::/48").map((network) => ({
    network,
    at: 12,
  })),
  // 6to4, RFC 3056
  ...networksOf("2002::/16").map((network) => ({ network, at: 2 })),
];

/** What a network is if no setting can open any part of it, for a person. */
export function whyAlwaysDenied(network: Network): string | undefined {
  return alwaysDenied.find((denied) => contains(denied.network, network))?.what;
}

/**
 * Why nothing may be sent to an address; null: it may. An IPv6 address that stands for an IPv4 address is denied with
 * it.
 *
 * @param text as sockets and resolvers write it, possibly with a zone (`fe80::1%eth0`)
 */
export function whyDenied(text: string, { deny, allow }: OutboundNetworks): string | null {
  const address = isIP(text) === 0 ? undefined : parseNetwork(text.replace(/%.*/, ""));
  if (!address) return "no address";
  const embedded = embeddedIn(address);
  const forms = embedded ? [address, embedded] : [address];
  const why = forms.map(whyAlwaysDenied).find((each) => each !== undefined);
  if (why !== undefined) return why;
  const isDenied = deny.some((network) => forms.some((form) => contains(network, form)));
  if (isDenied) return "denied by deny_networks";
  const isAllowed = allow?.some((network) => contains(network, address)) ?? true;
  return isAllowed ? null : "not among allow_networks";
}

/** @param text as sockets write it: IPv4 possibly as IPv6, and possibly with a zone */
export function isInNetworks(text: string, networks: readonly Network[]): boolean {
  const address = isIP(text) === 0 ? undefined : parseNetwork(text.replace(/%.*/, ""));
  return address !== undefined && networks.some((network) => contains(network, address));
}

/** @param hostname as a URL has it: a name, or an address, IPv6 possibly in brackets */
export function isLoopback(hostname: string): boolean {
  if (/^(?:.+\.)?localhost$/.test(hostname)) return true;
  const address = hostname.replace(/^\[|\]$/g, "");
  return ipaddr.isValid(address) && ipaddr.process(address).range() === "loopback";
}

/**
 * What one sender has: an IPv4 address, or the /64 out of which a host chooses its IPv6 addresses.
 *
 * @param text as sockets write it
 */
export function hostNetwork(text: string): string {
  const address = ipaddr.process(text.replace(/%.*/, ""));
  return address instanceof ipaddr.IPv6
    ? ipaddr.IPv6.networkAddressFromCIDR(`${address.toString()}/64`).toString()
    : address.toString();
}

/** The IPv4 address that a gateway may make of an IPv6 address. */
function embeddedIn(address: Network): Network | undefined {
  const found = embeddings.find(({ network }) => contains(network, address));
  if (!found) return undefined;
  const octets = address.address.toByteArray().slice(found.at, found.at + 4);
  return { address: new ipaddr.IPv4(octets), prefix: 32 };
}

function contains(outer: Network, inner: Network): boolean {
  if (outer.address.kind() !== inner.address.kind() || inner.prefix < outer.prefix) return false;
  return inner.address.match(outer.address, outer.prefix);
}

function networksOf(...texts: readonly string[]): readonly Network[] {
  return texts.flatMap((text) => parseNetwork(text) ?? []);
}

/** A socket of every interface writes IPv4 as IPv6. */
export function plainAddress(address: string): string {
  return address.replace(/^::ffff:(?=[\d.]+$)/, "");
}
