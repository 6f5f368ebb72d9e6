import { describe, expect, it } from "vitest";
import { anyNetwork, parseNetwork, whyDenied } from "../../src/lib/networks.ts";

function networks(...texts: string[]) {
  return texts.map((text) => {
    const network = parseNetwork(text);
    if (!network) throw new TypeError(`${text} is no network`);
    return network;
  });
}

describe("a network", () => {
  it.each([
    "10.0.0.0/8",
    "10.1.2.3",
    "0.0.0.0/0",
    "fd00::/8",
    "::/0",
    "::1",
    "::ffff:10.0.0.0/104",
  ])("can be %s", (text) => expect(parseNetwork(text)).toBeDefined());

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
  ])("is not %j", (text) => expect(parseNetwork(text)).toBeUndefined());
});

describe("an address to which nothing is sent, whatever the configuration says", () => {
  const open = { deny: [], allow: networks("0.0.0.0/0", "::/0") };

  it.each([
    ["169.254.0.1", "a link-local address"],
    ["169.254.169.254", "a metadata service"],
    ["100.100.100.200", "a metadata service"],
    ["192.0.0.192", "a metadata service"],
    ["168.63.129.16", "a metadata service"],
    ["fd00:ec2::254", "a metadata service"],
    ["fd20:ce::254", "a metadata service"],
    ["fe80::1", "a link-local address"],
    ["fe80::1%eth0", "a link-local address"],
    ["febf:ffff::1", "a link-local address"],
    ["0.0.0.0", "the unspecified address"],
    ["::", "the unspecified address"],
    ["224.0.0.1", "a multicast or broadcast address"],
    ["239.255.255.255", "a multicast or broadcast address"],
    ["255.255.255.255", "a multicast or broadcast address"],
    ["ff02::1", "a multicast or broadcast address"],
    // IPv4 addresses as IPv6 can say them: mapped, compatible, translated, NAT64, 6to4.
    ["::ffff:169.254.169.254", "a metadata service"],
    ["::ffff:a9fe:a9fe", "a metadata service"],
    ["0:0:0:0:0:ffff:a9fe:0001", "a link-local address"],
    ["::169.254.169.254", "a metadata service"],
    ["::ffff:0:169.254.169.254", "a metadata service"],
    ["64:ff9b::169.254.169.254", "a metadata service"],
    ["64:ff9b:1::a9fe:a9fe", "a metadata service"],
    ["2002:a9fe:a9fe::1", "a metadata service"],
    ["::ffff:0.0.0.0", "the unspecified address"],
    ["no address", "no address"],
    ["10.0.0.0/8", "no address"],
  ])("%s is %s", (address, what) => {
    expect(whyDenied(address, open)).toBe(what);
  });
});

describe("an address", () => {
  it.each(["127.0.0.1", "::1", "10.1.2.3", "192.168.1.1", "fd12::1", "8.8.8.8", "2a00::1"])(
    "%s can be sent to unless the configuration says otherwise",
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

  it("is denied by every network when everything of its kind is", () => {
    const deny = networks("0.0.0.0/0");
    expect(whyDenied("8.8.8.8", { deny, allow: null })).toBe("denied by deny_networks");
    expect(whyDenied("2a00::1", { deny, allow: null })).toBeNull();
    expect(whyDenied("2a00::1", { deny: networks("::/0"), allow: null })).not.toBeNull();
    expect(whyDenied("8.8.8.8", { deny: networks("::/0"), allow: null })).toBeNull();
  });
});
