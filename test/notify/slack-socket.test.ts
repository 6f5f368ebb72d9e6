import { expect, it, onTestFinished } from "vitest";
import { systemClock } from "../../src/lib/clock.ts";
import { directRoute, type Route } from "../../src/lib/connector.ts";
import { parseNetwork } from "../../src/lib/networks.ts";
import { Secret } from "../../src/lib/secret.ts";
import type { OutboundDeps } from "../../src/notify/outbound.ts";
import { createSlackApi } from "../../src/notify/receivers/slack-api.ts";
import { SlackSocket } from "../../src/notify/receivers/slack-socket.ts";
import { routeThrough, startForwardProxy } from "../support/forward-proxy.ts";
import { ca, cert, key } from "../support/private-ca.ts";
import { startWebSocketServer } from "../support/websocket-server.ts";
import { openOutbound } from "./support/outbound.ts";

/**
 * Slack with TLS, which greets those who connect.
 *
 * @param addressOf what it names to connect to, by its port
 */
async function startSlack(addressOf: (port: number) => string) {
  let opened = 0;
  const port: number = await startWebSocketServer(
    {
      accepts: () => true,
      onOpen(peer) {
        opened += 1;
        peer.send({ type: "hello" });
      },
      onText() {},
      onClosed() {},
    },
    {
      tls: { key, cert },
      onRequest: (_, response) =>
        void response.end(JSON.stringify({ ok: true, url: addressOf(port) })),
    },
  );
  return { port, opened: () => opened };
}

/** Connects until there is a first event in the log, which is returned. */
async function connect(host: string, route: Route, more: Partial<OutboundDeps> = {}) {
  const outbound = openOutbound(systemClock, { ...more, route });
  const settings = { name: "app", url: new Secret(`https://${host}/api/`) };
  const first = Promise.withResolvers<Readonly<Record<string, unknown>>>();
  const log = { info: first.resolve, warn: first.resolve, error: first.resolve };
  const socket = new SlackSocket({
    receivers: ["app"],
    appToken: new Secret("xapp-1"),
    api: createSlackApi(settings, outbound),
    isEncrypted: true,
    outbound,
    clock: systemClock,
    random: () => 1,
    log,
    onState() {},
    onInteraction: () => Promise.resolve(),
  });
  onTestFinished(() => socket.close());
  socket.start();
  return first.promise;
}

it("is opened through the proxy, with trust in the private authority", async () => {
  const slack = await startSlack((port) => `wss://wss.example.com:${port}/link/?ticket=1`);
  const proxy = await startForwardProxy();
  const host = `slack.example.com:${slack.port}`;
  expect(await connect(host, routeThrough(proxy.url))).toMatchObject({ event: "slack.connected" });
  expect(proxy.asked).toEqual([host, `wss.example.com:${slack.port}`]);
});

it.each<[string, (port: number) => string, reason: string]>([
  [
    "without encryption",
    (port) => `ws://127.0.0.1:${port}/`,
    "Slack named no address to connect to",
  ],
  ["that is none", () => "T0PSECRET", "Slack named no address to connect to"],
  ["that is denied", () => "wss://10.1.2.3/", "the connection was closed"],
])("is not opened to an address %s, which the log does not show", async (_, addressOf, reason) => {
  const slack = await startSlack(addressOf);
  const deny = ["10.0.0.0/8"].flatMap((text) => parseNetwork(text) ?? []);
  const route = { ...directRoute, ca };
  const logged = await connect(`127.0.0.1:${slack.port}`, route, {
    networks: { allow: null, deny },
  });
  expect(logged).toEqual({ event: "slack.not_connected", receivers: "app", reason });
  expect(slack.opened()).toBe(0);
});
