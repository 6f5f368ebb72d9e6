import { constants, networkInterfaces } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { parseListenAddress } from "../../src/config/address.ts";
import { writeConfig } from "../support/config-file.ts";
import { startProgram } from "../support/sandwatch-process.ts";
import { serveWeb } from "./support/serve-web.ts";

const program = join(import.meta.dirname, "../../src/cli.js");

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
