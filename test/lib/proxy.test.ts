import { once } from "node:events";
import { describe, expect, it, onTestFinished } from "vitest";
import { destinationOf, isProxied, openTunnel, parseNoProxyEntry } from "../../src/lib/proxy.ts";
import type { NoProxyEntry } from "../../src/lib/proxy.ts";
import { Secret } from "../../src/lib/secret.ts";
import { freeAddress } from "../support/free-address.ts";
import { startBrokenProxy, startForwardProxy } from "../support/forward-proxy.ts";

const never = new AbortController().signal;

function isProxiedBy(noProxy: readonly string[], address: string): boolean {
  const entries = noProxy.map((text): NoProxyEntry => {
    const entry = parseNoProxyEntry(text);
    if (!entry) throw new TypeError(`${text} is no entry`);
    return entry;
  });
  const proxy = { url: new Secret("http://proxy.example.com"), noProxy: entries };
  return isProxied(proxy, destinationOf(new URL(address)));
}

describe("a proxy", () => {
  it.each([
    ["https://us.example.com", true],
    ["https://10.0.0.1", true],
    ["https://[fd00::1]", true],
    ["http://us.example.com", false],
    ["https://localhost:8443", false],
    ["https://127.1.2.3", false],
    ["https://[::1]", false],
  ])("connects to %s: %s", (address, isThrough) => {
    expect(isProxiedBy([], address)).toBe(isThrough);
  });

  it.each([
    ["*", "https://us.example.com"],
    ["example.com", "https://example.com"],
    ["example.com", "https://us.Example.com."],
    [".EXAMPLE.com", "https://us.example.com"],
    ["*.example.com", "https://a.us.example.com"],
    ["svc", "https://sandbox.prod.svc:8443"],
    ["example.com:443", "https://us.example.com"],
    ["example.com:8443", "https://us.example.com:8443"],
    ["10.0.0.0/8", "https://10.1.2.3:8443"],
    ["10.1.2.3", "https://10.1.2.3"],
    ["10.0.0.0/8:8443", "https://10.1.2.3:8443"],
    ["10.1.2.3/8", "https://10.200.0.1"],
    ["172.17.0.1/16", "https://172.17.200.1"],
    ["10.1.2.3/8:8443", "https://10.200.0.1:8443"],
    ["fd00::1/8", "https://[fd99::1]"],
    ["[fd00::1/8]:8443", "https://[fd99::1]:8443"],
    ["::ffff:10.1.2.3/104", "https://10.200.0.1"],
    ["fd00::/8", "https://[fd00::1]"],
    ["fd00::1", "https://[fd00::1]"],
    ["[fd00::1]:443", "https://[fd00::1]"],
  ])("is not used where %s exempts %s", (entry, address) => {
    expect(isProxiedBy(["none.invalid", entry], address)).toBe(false);
  });

  it.each([
    ["example.com", "https://notexample.com"],
    ["us.example.com", "https://example.com"],
    ["example.com:8443", "https://us.example.com"],
    ["10.0.0.0/8", "https://11.0.0.1"],
    ["172.17.0.1/16", "https://172.18.0.1"],
    ["10.0.0.0/8", "https://10.0.0.1.example.com"],
    ["[fd00::1]:443", "https://[fd00::1]:8443"],
  ])("is used where %s says nothing of %s", (entry, address) => {
    expect(isProxiedBy([entry], address)).toBe(true);
  });

  it.each([
    "",
    ".",
    "10.0.0.1/33",
    "10.1/8",
    "192.168.*",
    "https://a.example.com",
    "a b",
    "[a]",
    "a:b",
    "example.com:0443",
    "example.com:99999",
  ])("is not limited by %j, which has no meaning", (text) => {
    expect(parseNoProxyEntry(text)).toBeUndefined();
  });
});

it("refuses a very long entry of no_proxy at once", () => {
  const begin = performance.now();
  expect(parseNoProxyEntry(`${"a".repeat(1_000_000)}!`)).toBeUndefined();
  expect(performance.now() - begin).toBeLessThan(1_000);
});

describe("a tunnel", () => {
  const open = (url: string, timeoutMs = 10_000) =>
    openTunnel(
      { url: new Secret(url), noProxy: [] },
      destinationOf(new URL("https://us.example.com")),
      timeoutMs,
      never,
    );

  it.each([
    [403, "the proxy refused the connection (HTTP 403)", "network"],
    [401, "the proxy requires a valid user name and password (HTTP 401)", "network"],
    [407, "the proxy requires a valid user name and password (HTTP 407)", "network"],
    [502, "the proxy refused the connection (HTTP 502)", "network"],
  ])("that the proxy answers with %i is a failure of the proxy", async (code, message, reason) => {
    const proxy = await startForwardProxy();
    proxy.refuse(code);
    await expect(open(proxy.url)).rejects.toMatchObject({ message, reason });
    expect(proxy.asked).toEqual(["us.example.com:443"]);
  });

  it.each([
    ["closes it", (socket) => void socket.end(), "the proxy closed the connection"],
    ["resets it", (socket) => void socket.resetAndDestroy(), "the proxy closed the connection"],
    [
      "speaks something else",
      (socket) => void socket.end("SSH-2.0\r\n"),
      "the proxy does not speak HTTP (HPE_INVALID_CONSTANT)",
    ],
  ] satisfies [string, Parameters<typeof startBrokenProxy>[0], string][])(
    "is a failure of the proxy if that %s",
    async (_, onData, message) => {
      const url = await startBrokenProxy(onData);
      await expect(open(url)).rejects.toMatchObject({ message, reason: "network" });
    },
  );

  it("that the proxy refuses is closed, although the proxy would keep it open", async () => {
    const closed = Promise.withResolvers<void>();
    const url = await startBrokenProxy((socket) => {
      socket.on("close", () => closed.resolve());
      socket.write("HTTP/1.1 403 Forbidden\r\ncontent-length: 0\r\n\r\n");
    });
    await expect(open(url)).rejects.toMatchObject({ reason: "network" });
    await closed.promise;
  });

  it("loses nothing that a server says at once", async () => {
    const url = await startBrokenProxy((socket) => {
      socket.write("HTTP/1.1 200 OK\r\n\r\n220 mail.example.com\r\n");
    });
    const socket = await open(url);
    onTestFinished(() => void socket.destroy());
    const [greeting] = await once(socket, "data");
    expect(String(greeting)).toBe("220 mail.example.com\r\n");
  });

  it("is a failure of the proxy if that does not answer, or cannot be reached", async () => {
    const silent = await startBrokenProxy(() => {});
    const late = { message: "the proxy did not answer in time", reason: "timeout" };
    await expect(open(silent, 50)).rejects.toMatchObject(late);
    await expect(open(`http://${await freeAddress()}`)).rejects.toMatchObject({
      message: "the proxy cannot be reached (ECONNREFUSED)",
      reason: "network",
    });
  });
});
