import { constants, networkInterfaces } from "node:os";
import { describe, expect, it, onTestFinished } from "vitest";
import { parseListenAddress } from "../../src/config/address.ts";
import { openAccess, type AccessSettings } from "../../src/lib/access.ts";
import { writeConfig } from "../support/config-file.ts";
import { programOf, runSandwatch, startProgram } from "../support/sandwatch-process.ts";
import { freeAddress } from "../support/free-address.ts";
import { serveWeb } from "./support/serve-web.ts";

const program = programOf("cli");

const hasIpv6 = Object.values(networkInterfaces()).some((addresses) =>
  addresses?.some(({ address }) => address === "::1"),
);

/** Serves at what a configuration may say, and gives the address to open. */
async function serveAt(listen: string): Promise<URL> {
  const at = parseListenAddress(listen);
  if (!at) throw new Error(`${listen} cannot be read`);
  return new URL((await serveWeb({}, at)).address);
}

async function isServed(url: string): Promise<boolean> {
  return fetch(url).then(
    ({ ok }) => ok,
    () => false,
  );
}

async function familiesAt({ port }: URL) {
  return {
    ipv4: await isServed(`http://127.0.0.1:${port}/-/healthy`),
    ipv6: await isServed(`http://[::1]:${port}/-/healthy`),
  };
}

describe("the status page is served", () => {
  it.each([
    { listen: ":0", ipv4: true, ipv6: hasIpv6, opened: "127.0.0.1" },
    { listen: "[::]:0", ipv4: true, ipv6: hasIpv6, opened: "127.0.0.1" },
    { listen: "0.0.0.0:0", ipv4: true, ipv6: false, opened: "127.0.0.1" },
    { listen: "127.0.0.1:0", ipv4: true, ipv6: false, opened: "127.0.0.1" },
    ...(hasIpv6 ? [{ listen: "[::1]:0", ipv4: false, ipv6: true, opened: "[::1]" }] : []),
  ])("at $listen, on the families $ipv4 and $ipv6", async ({ listen, opened, ...families }) => {
    const address = await serveAt(listen);
    expect(await familiesAt(address)).toEqual(families);
    expect(address.hostname).toBe(opened);
    expect(await isServed(`${address.origin}/-/healthy`)).toBe(true);
  });

  it("at localhost:0, by that name", async () => {
    const address = await serveAt("localhost:0");
    expect(address.hostname).toBe("localhost");
    expect(await isServed(`${address.origin}/-/healthy`)).toBe(true);
  });

  it("at every interface on IPv4 alone on a machine without IPv6", async () => {
    const withoutIpv6 = `process.binding("tcp_wrap").TCP.prototype.bind6 = () => -${constants.errno.EAFNOSUPPORT};`;
    const { config } = writeConfig({ http: { listen: ":0", auth: "none" } });
    const preload = `data:text/javascript,${encodeURIComponent(withoutIpv6)}`;
    const daemon = startProgram(["--import", preload, program, "run", "--config", config]);
    const { address }: { address: string } = JSON.parse(await daemon.line("daemon.started"));
    expect(address).toMatch(/^http:\/\/127\.0\.0\.1:/);
    expect(await familiesAt(new URL(address))).toEqual({ ipv4: true, ipv6: false });
    daemon.send("SIGTERM");
    expect(await daemon.ended).toMatchObject({ code: 0, err: "" });
  });
});

describe("health checks at an address of their own", () => {
  it("are answered there to everyone, and nothing else is", async () => {
    const port = Number((await freeAddress()).split(":")[1]);
    const settings: AccessSettings = { ...openAccess, anonymous: null };
    const { address } = await serveWeb(
      { settings },
      { host: "127.0.0.1", port: 0, healthListen: { host: "", port } },
    );
    const health = `http://127.0.0.1:${port}`;
    const statusOf = async (url: string) => (await fetch(url)).status;
    expect(await statusOf(`${health}/-/healthy`)).toBe(200);
    expect(await statusOf(`${health}/-/ready`)).toBe(200);
    for (const path of ["/", "/metrics", "/api/v1/targets", "/-/reload"]) {
      expect(await statusOf(health + path)).toBe(404);
    }
    expect(await statusOf(`${address}/-/healthy`)).toBe(401);
  });

  it("are answered there while clients have taken all connections of the other address", async () => {
    const port = Number((await freeAddress()).split(":")[1]);
    const held = Promise.withResolvers<void>();
    const asked = Promise.withResolvers<void>();
    onTestFinished(() => held.resolve());
    const { address, refusals } = await serveWeb(
      {
        connectionsAllowed: 1,
        api: {
          call: async () => {
            asked.resolve();
            await held.promise;
            return {};
          },
          events: () => Promise.reject(new Error("not called")),
        },
      },
      { host: "127.0.0.1", port: 0, healthListen: { host: "127.0.0.1", port } },
    );
    const waiting = fetch(`${address}/api/v1/targets`);
    await asked.promise;
    expect(await isServed(`${address}/-/healthy`)).toBe(false);
    expect(await isServed(`http://127.0.0.1:${port}/-/healthy`)).toBe(true);
    expect(refusals).toContainEqual({ reason: "connections", address: "127.0.0.1" });
    held.resolve();
    expect((await waiting).status).toBe(200);
  });

  it("need the address to be free, which the error names", async () => {
    const { address } = await serveWeb();
    const { host, hostname, port } = new URL(address);
    const { config } = writeConfig({
      http: { listen: "127.0.0.1:0", health_listen: `${hostname}:${port}` },
    });
    const { code, err } = await runSandwatch(["run", "--config", config]);
    expect([code, err]).toEqual([1, expect.stringContaining(host)]);
    expect(err).toContain("http.health_listen");
  });
});
