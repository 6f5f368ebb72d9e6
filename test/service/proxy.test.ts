import { setImmediate as nextTurn } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { systemClock } from "../../src/lib/clock.ts";
import type { ServiceClientOptions } from "../../src/service/client.ts";
import { routeThrough, startBrokenProxy, startForwardProxy } from "../support/forward-proxy.ts";
import { startPrivateServer } from "../support/private-ca.ts";
import { answerJson, createTestClient, emptyListing } from "./peer.ts";

/** A client of `us` through a proxy. */
function open(port: number, proxyUrl: string, more: Partial<ServiceClientOptions> = {}) {
  const baseUrl = `https://us.example.com:${port}`;
  const regions = new Map([["us", { baseUrl, route: routeThrough(proxyUrl) }]]);
  return createTestClient(baseUrl, { regions, ...more });
}

describe("a region behind a proxy", () => {
  it("is called through one tunnel", async () => {
    const { port, paths } = await startPrivateServer((_, response) =>
      answerJson(response, emptyListing),
    );
    const proxy = await startForwardProxy({ credentials: "ann:T0PSECRET" });
    const { client, call } = open(port, proxy.url);
    for (let poll = 0; poll < 3; poll += 1) {
      expect(await client.listSandboxes(call)).toMatchObject({ kind: "ok" });
      await nextTurn();
    }
    expect(proxy.asked).toEqual([`us.example.com:${port}`]);
    expect(paths).toHaveLength(3);
  });

  it.each([
    [403, "the proxy refused the connection (HTTP 403)"],
    [407, "the proxy requires a valid user name and password (HTTP 407)"],
  ])("that the proxy refuses with %i has not refused the key", async (code, detail) => {
    const proxy = await startForwardProxy();
    proxy.refuse(code);
    const { client, call, ended } = open(443, proxy.url);
    const result = await client.listSandboxes(call);
    expect(result).toMatchObject({ kind: "failed", reason: "network", status: null, detail });
    expect(ended.map((request) => request.code)).toEqual(["network"]);
  });

  it("is a failure of the proxy if that does not answer in three quarters of the time", async () => {
    const silent = await startBrokenProxy(() => {});
    const { client, call } = open(443, silent, { timeoutMs: 1_000, clock: systemClock });
    const detail = "the proxy did not answer in time";
    expect(await client.listSandboxes(call)).toMatchObject({ reason: "timeout", detail });
  });

  it("is no longer waited for when the client is closed", async () => {
    const asked = Promise.withResolvers<null>();
    const { client, call } = open(443, await startBrokenProxy(() => asked.resolve(null)));
    const result = client.listSandboxes(call);
    await asked.promise;
    await client.close();
    expect(await result).toMatchObject({ kind: "failed", detail: "stopped" });
  });
});
