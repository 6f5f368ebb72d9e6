import { isIPv4, isIPv6 } from "node:net";

/** A range of addresses: those whose first `prefix` bits are the same. One address is a range too. */
export interface Network {
  /** Four of IPv4, sixteen of IPv6. */
  readonly bytes: readonly number[];
  readonly prefix: number;
}

/**
 * Reads `10.0.0.0/8`, `fd00::/8` and single addresses; undefined for anything else, and where bits
 * after the prefix are set. IPv4 written as IPv6 (`::ffff:10.0.0.0/104`) is IPv4.
 */
export function parseNetwork(text: string): Network | undefined {
  const match = /^([^/%]+)(?:\/(\d{1,3}))?$/.exec(text);
  const bytes = match?.[1] === undefined ? undefined : bytesOf(match[1]);
  if (!bytes) return undefined;
  const prefix = match?.[2] === undefined ? bytes.length * 8 : Number(match[2]);
  if (prefix > bytes.length * 8) return undefined;
  const network = { bytes: masked(bytes, prefix), prefix };
  return network.bytes.every((byte, index) => byte === bytes[index])
    ? withoutMapping(network)
    : undefined;
}

/** One address as sockets and resolvers write it, perhaps with a zone (`fe80::1%eth0`). */
export function parseAddress(text: string): Network | undefined {
  const [address = ""] = text.split("%");
  return address.includes("/") ? undefined : parseNetwork(address);
}

export function contains(outer: Network, inner: Network): boolean {
  if (outer.bytes.length !== inner.bytes.length || inner.prefix < outer.prefix) return false;
  return masked(inner.bytes, outer.prefix).every((byte, index) => byte === outer.bytes[index]);
}

/** IPv6 ranges that stand for IPv4 addresses, and at which byte those begin. */
const embeddings: readonly (readonly [network: Network | undefined, at: number])[] = [
  [parseNetwork("::/96"), 12],
  // RFC 7915
  [parseNetwork("::ffff:0:0:0/96"), 12],
  // NAT64, RFC 6052 and RFC 8215
  [parseNetwork("64:ff9b::/96"), 12],
  [parseNetwork("64:ff9b:1::/48"), 12],
  // 6to4, RFC 3056
  [parseNetwork("2002::/16"), 2],
];

/** The IPv4 address that a gateway may make of an IPv6 address. */
export function embeddedIn(address: Network): Network | undefined {
  const found = embeddings.find(([network]) => network && contains(network, address));
  return found && { bytes: address.bytes.slice(found[1], found[1] + 4), prefix: 32 };
}

function bytesOf(address: string): readonly number[] | undefined {
  if (isIPv4(address)) return address.split(".").map(Number);
  if (!isIPv6(address)) return undefined;
  const [head = "", tail] = address.split("::");
  const start = groupBytes(head);
  const end = groupBytes(tail ?? "");
  return [...start, ...Array<number>(16 - start.length - end.length).fill(0), ...end];
}

function groupBytes(groups: string): number[] {
  if (groups === "") return [];
  return groups.split(":").flatMap((group) => {
    if (group.includes(".")) return group.split(".").map(Number);
    const value = Number.parseInt(group, 16);
    return [value >> 8, value & 255];
  });
}

function masked(bytes: readonly number[], prefix: number): number[] {
  return bytes.map((byte, index) => {
    const bits = Math.min(8, Math.max(0, prefix - index * 8));
    return byte & (0xff00 >> bits) & 0xff;
  });
}

function withoutMapping(network: Network): Network {
  const { bytes, prefix } = network;
  const mapped =
    bytes.length === 16 &&
    prefix >= 96 &&
    bytes.slice(0, 10).every((byte) => byte === 0) &&
    bytes[10] === 255 &&
    bytes[11] === 255;
  return mapped ? { bytes: bytes.slice(12), prefix: prefix - 96 } : network;
}
