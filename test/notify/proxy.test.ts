import { once } from "node:events";
import type { LookupFunction, Socket } from "node:net";
import { setImmediate } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { systemClock } from "../../src/lib/clock.ts";
import type { Route } from "../../src/lib/connector.ts";
import { parseNetwork, type Network } from "../../src/lib/networks.ts";
import type { OutboundDeps } from "../../src/notify/outbound.ts";
import { failed, type SendResult } from "../../src/notify/receiver.ts";
import { createEmailReceiver } from "../../src/notify/receivers/email.ts";
import { freeAddress } from "../support/free-address.ts";
import { routeThrough, startBrokenProxy, startForwardProxy } from "../support/forward-proxy.ts";
import { cert, key, startPrivateServer } from "../support/private-ca.ts";
import { notificationOf } from "./support/notifications.ts";
import { openOutbound } from "./support/outbound.ts";
import { startReceiverServer } from "./support/receiver-server.ts";
import { startSmtpPeer } from "./support/smtp-peer.ts";

const { signal } = new AbortController();
const delivered: SendResult = { kind: "delivered" };

const lookupTo =
  (address: string): LookupFunction =>
  (_, __, callback) =>
    callback(null, [{ address, family: 4 }]);

/** Posts to a path of a host. */
function post(host: string, route: Route, more: Partial<OutboundDeps> = {}): Promise<SendResult> {
  const outbound = openOutbound(systemClock, { ...more, route });
  return outbound.send({ url: new URL(`https://${host}/T0PSECRET`), body: "{}" }, signal);
}

describe("a receiver behind a proxy", () => {
  it.each([
    ["http", false],
    ["https", true],
  ])("is reached through one with %s, by name and password", async (_, isSecure) => {
    const { port, paths } = await startPrivateServer();
    const proxy = await startForwardProxy({ credentials: "ann:s3cr@t", isSecure });
    const url = proxy.url.replace("s3cr@t", "s3cr%40t");
    expect(await post(`hooks.example.com:${port}`, routeThrough(url))).toEqual(delivered);
    expect(proxy.asked).toEqual([`hooks.example.com:${port}`]);
    expect(paths).toEqual(["/T0PSECRET"]);
  });

  it("uses one tunnel for requests one after another", async () => {
    const { port, paths } = await startPrivateServer();
    const proxy = await startForwardProxy();
    const outbound = openOutbound(systemClock, { route: routeThrough(proxy.url) });
    const url = new URL(`https://hooks.example.com:${port}/`);
    for (let time = 0; time < 3; time += 1) {
      expect(await outbound.send({ url, body: "{}" }, signal)).toEqual(delivered);
      await setImmediate();
    }
    expect([proxy.asked.length, paths.length]).toEqual([1, 3]);
  });

  it("must have a certificate that is trusted, whatever the proxy is", async () => {
    const { port, paths } = await startPrivateServer();
    const { url } = await startForwardProxy();
    const untrusting = { ...routeThrough(url), ca: null };
    expect(await post(`hooks.example.com:${port}`, untrusting)).toEqual(
      failed("network", "UNABLE_TO_VERIFY_LEAF_SIGNATURE"),
    );
    expect(await post(`hooks.example.org:${port}`, routeThrough(url))).toEqual(
      failed("network", "ERR_TLS_CERT_ALTNAME_INVALID"),
    );
    expect(paths).toEqual([]);
  });

  it("is not reached through an https proxy that is not trusted", async () => {
    const { port } = await startPrivateServer();
    const proxy = await startForwardProxy({ isSecure: true });
    const result = await post(`hooks.example.com:${port}`, {
      ...routeThrough(proxy.url),
      ca: null,
    });
    const why = "the proxy cannot be reached (UNABLE_TO_VERIFY_LEAF_SIGNATURE)";
    expect(result).toEqual(failed("network", why));
    expect(proxy.asked).toEqual([]);
  });

  it("is reached directly with http, on this machine, and where no_proxy says so", async () => {
    const plain = await startReceiverServer();
    const { port, paths } = await startPrivateServer();
    const proxy = await startForwardProxy();
    const { proxy: through, ca } = routeThrough(proxy.url);
    if (!through) throw new TypeError("no proxy");
    const noProxy = [{ network: undefined, domain: "example.com", port: "" }];
    const route = { proxy: { ...through, noProxy }, ca };
    const outbound = openOutbound(systemClock, { route, lookup: lookupTo("127.0.0.1") });
    expect(await outbound.send({ url: new URL(plain.origin) }, signal)).toEqual(delivered);
    expect(await post(`127.0.0.1:${port}`, route)).toEqual(delivered);
    expect(
      await post(`hooks.example.com:${port}`, route, { lookup: lookupTo("127.0.0.1") }),
    ).toEqual(delivered);
    expect([proxy.asked, paths.length]).toEqual([[], 2]);
  });

  it("is not reached if the proxy is not there, or breaks off", async () => {
    const gone = `http://u:T0PSECRET@${await freeAddress()}`;
    expect(await post("hooks.example.com", routeThrough(gone))).toEqual(
      failed("network", "the proxy cannot be reached (ECONNREFUSED)"),
    );
    const broken = await startBrokenProxy((socket) => void socket.destroy());
    expect(await post("hooks.example.com", routeThrough(broken))).toEqual(
      failed("network", "the proxy closed the connection"),
    );
    const ends = await startBrokenProxy((socket) => void socket.end("HTTP/1.1 200 OK\r\n\r\n"));
    expect(await post("hooks.example.com", routeThrough(ends))).toMatchObject({
      reason: "network",
    });
  });

  it("is no longer waited for when sandwatch stops, while the proxy does not answer", async () => {
    const asked = Promise.withResolvers<Socket>();
    const silent = await startBrokenProxy(asked.resolve);
    const outbound = openOutbound(systemClock, { route: routeThrough(silent) });
    const sent = outbound.send({ url: new URL("https://hooks.example.com/") }, signal);
    const closed = once(await asked.promise, "close");
    await outbound.close();
    await closed;
    expect(await sent).toMatchObject({ kind: "failed", reason: "network" });
  });
});

describe("denied networks behind a proxy", () => {
  const network = (text: string): Network => {
    const read = parseNetwork(text);
    if (!read) throw new TypeError("no network");
    return read;
  };
  const unresolved: LookupFunction = (_, __, callback) =>
    callback(Object.assign(new Error("not found"), { code: "ENOTFOUND" }), []);

  it.each([
    ["169.254.169.254", { deny: [], allow: null }, "a metadata service"],
    ["10.0.0.1", { deny: [network("10.0.0.0/8")], allow: null }, "denied by deny_networks"],
    ["10.0.0.1", { deny: [], allow: [network("192.0.2.0/24")] }, "not among allow_networks"],
  ])("hold for the address %s", async (host, networks, why) => {
    const proxy = await startForwardProxy();
    const result = await post(host, routeThrough(proxy.url), { networks });
    expect(result).toEqual(failed("denied", why));
    expect(proxy.asked).toEqual([]);
  });

  const limited = { deny: [network("10.0.0.0/8")], allow: null };
  it.each([
    [lookupTo("10.0.0.1"), failed("denied", "denied by deny_networks")],
    [lookupTo("169.254.169.254"), failed("denied", "a metadata service")],
    [unresolved, failed("network", "ENOTFOUND")],
  ])("hold for names where networks are configured", async (lookup, result) => {
    const proxy = await startForwardProxy();
    const route = routeThrough(proxy.url);
    expect(await post("hooks.example.com", route, { networks: limited, lookup })).toEqual(result);
    expect(proxy.asked).toEqual([]);
  });

  it("hold for neither the proxy nor names that only it can resolve, where none is configured", async () => {
    const { port } = await startPrivateServer();
    const proxy = await startForwardProxy();
    const route = routeThrough(proxy.url);
    const host = `hooks.example.com:${port}`;
    expect(await post(host, route, { lookup: unresolved })).toEqual(delivered);
    const networks = { deny: [network("127.0.0.0/8")], allow: null };
    const lookup = lookupTo("192.0.2.1");
    expect(await post(host, route, { networks, lookup })).toEqual(delivered);
  });
});

describe("an SMTP server", () => {
  const settings = {
    name: "mail",
    host: "smtp.example.com",
    auth: null,
    from: { name: "", address: "sandwatch@example.com" },
    to: ["ann@example.com"],
    pauseMs: 0,
  };

  it.each([
    ["starttls", {}],
    ["tls", { secure: true }],
  ] as const)("is reached through the proxy with %s if so configured", async (tls, options) => {
    const { port, emails } = await startSmtpPeer({ ...options, key, cert });
    const proxy = await startForwardProxy({ credentials: "ann:T0PSECRET" });
    const outbound = openOutbound(systemClock, {
      route: routeThrough(proxy.url),
      lookup: lookupTo("127.0.0.1"),
    });
    const deps = { clock: systemClock, outbound };
    const receiver = createEmailReceiver({ ...settings, port, tls, viaProxy: true }, deps);
    expect(await receiver.send(notificationOf(), signal)).toEqual(delivered);
    expect(emails).toMatchObject([{ secure: true }]);
    expect(proxy.asked).toEqual([`smtp.example.com:${port}`]);

    const direct = createEmailReceiver({ ...settings, port, tls, viaProxy: false }, deps);
    expect(await direct.send(notificationOf(), signal)).toEqual(delivered);
    proxy.refuse(403);
    const why = "the proxy refused the connection (HTTP 403)";
    expect(await receiver.send(notificationOf(), signal)).toEqual(failed("network", why));
    expect(proxy.asked).toHaveLength(2);
  });
});
