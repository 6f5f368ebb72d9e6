import { describe, expect, it } from "vitest";
import { anyNetwork, parseNetwork, whyDenied } from "../../src/lib/networks.ts";

function networks(...texts: string[]) {
  return texts.map((text) => {
    const network = parseNetwork(text);
    if (!network) throw new TypeError(`${text} is no network`);
    return network;
  });
}

const sound = ["10.0.0.0/8", "10.1.2.3", "0.0.0.0/0", "fd00::/8", "::/0", "::ffff:10.0.0.0/104"];

it.each(sound)("a network can be %s", (text) => expect(parseNetwork(text)).toBeDefined());

it.each([
  "10.1.2.3/8",
  "10.0.0.0/33",
  "fd00::1/8",
  "fd00::/129",
  "10.0.0/8",
  "0x0a.0.0.0/8",
  "010.0.0.0/8",
  "10.0.0.0/8/8",
  "10.0.0.0/",
  "10.0.0.0/-1",
  "fe80::1%eth0",
  "localhost",
  "",
])("a network is not %j", (text) => expect(parseNetwork(text)).toBeUndefined());

it.each([
  ["a metadata service", "169.254.169.254 100.100.100.200 192.0.0.192 168.63.129.16"],
  ["a metadata service", "fd00:ec2::254 fd20:ce::254"],
  ["a link-local address", "169.254.0.1 fe80::1 fe80::1%eth0 febf:ffff::1"],
  ["the unspecified address", "0.0.0.0 ::"],
  ["a multicast or broadcast address", "224.0.0.1 239.255.255.255 255.255.255.255 ff02::1"],
  // IPv4 addresses as IPv6 can say them: mapped, compatible, translated, NAT64, 6to4.
  ["a metadata service", "::ffff:169.254.169.254 ::ffff:a9fe:a9fe ::169.254.169.254"],
  ["a metadata service", "::ffff:0:169.254.169.254 64:ff9b::169.254.169.254"],
  ["a metadata service", "64:ff9b:1::a9fe:a9fe 2002:a9fe:a9fe::1"],
  ["a link-local address", "0:0:0:0:0:ffff:a9fe:0001"],
  ["the unspecified address", "::ffff:0.0.0.0"],
  ["no address", "somewhere 10.0.0.0/8"],
])("nothing is sent to %s, whatever the configuration says: %s", (what, addresses) => {
  const open = { deny: [], allow: networks("0.0.0.0/0", "::/0") };
  for (const address of addresses.split(" ")) expect(whyDenied(address, open)).toBe(what);
});

describe("an address", () => {
  it.each(["127.0.0.1", "::1", "10.1.2.3", "192.168.1.1", "fd12::1", "8.8.8.8", "2a00::1"])(
    "%s can be sent to by default",
    (address) => expect(whyDenied(address, anyNetwork)).toBeNull(),
  );

  it.each([
    ["10.1.2.3", "denied by deny_networks"],
    ["::ffff:10.1.2.3", "denied by deny_networks"],
    ["64:ff9b::10.1.2.3", "denied by deny_networks"],
    ["2002:0a01:0203::", "denied by deny_networks"],
    ["fd00::1", "denied by deny_networks"],
    ["11.0.0.1", null],
    ["fc00::1", null],
  ])("%s with 10.0.0.0/8 and fd00::/8 denied: %s", (address, why) => {
    const deny = networks("10.0.0.0/8", "fd00::/8");
    expect(whyDenied(address, { deny, allow: null })).toBe(why);
  });

  it.each([
    ["10.1.2.3", null],
    ["::ffff:10.1.2.3", null],
    ["10.9.9.9", "denied by deny_networks"],
    ["11.0.0.1", "not among allow_networks"],
    ["64:ff9b::10.1.2.3", "not among allow_networks"],
    ["2a00::1", "not among allow_networks"],
  ])("%s with only 10.0.0.0/8 allowed, and 10.9.0.0/16 of it denied: %s", (address, why) => {
    const rules = { deny: networks("10.9.0.0/16"), allow: networks("10.0.0.0/8") };
    expect(whyDenied(address, rules)).toBe(why);
  });
});
