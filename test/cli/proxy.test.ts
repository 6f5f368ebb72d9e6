import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { writeConfig } from "../support/config-file.ts";
import { freeAddress } from "../support/free-address.ts";
import { startForwardProxy } from "../support/forward-proxy.ts";
import { ca, startPrivateServer } from "../support/private-ca.ts";
import { startSandwatch } from "../support/sandwatch-process.ts";
import { runCommand } from "../support/run-command.ts";
import { tempFolder } from "../support/temp-folder.ts";
import { cert } from "../support/self-signed.ts";
import { serveUs } from "./serve-us.ts";
import { answerJson, emptyListing } from "../service/peer.ts";

/** A service and a receiver at https addresses that only a proxy knows, and the configuration for them. */
async function start() {
  const { port } = await startPrivateServer((_, response) => answerJson(response, emptyListing));
  const folder = tempFolder();
  writeFileSync(join(folder, "ca.crt"), ca);
  const url = `https://hooks.example.com:${port}/T0PSECRET`;
  const mail = {
    type: "email",
    host: "smtp.example.com",
    port,
    from: "a@example.com",
    to: ["b@example.com"],
    via_proxy: true,
  };
  const { config } = writeConfig(
    {
      poll: { every: "1s" },
      regions: { us: { base_url: `https://us.example.com:${port}` } },
      http: { listen: await freeAddress() },
      outbound: { ca_file: "ca.crt" },
      alerts: {
        receivers: [
          { name: "oncall", type: "webhook", url },
          { name: "mail", ...mail },
          { name: "tls", ...mail, tls: "tls" },
          { name: "direct", ...mail, host: "smtp.invalid", via_proxy: false },
        ],
      },
    },
    folder,
  );
  const proxy = await startForwardProxy({ credentials: "ann:T0PSECRET" });
  const run = async (...args: string[]) => {
    const ended = await runCommand(args, { HTTPS_PROXY: proxy.url, SANDWATCH_API_KEY: "k" });
    expect(ended.out + ended.err).not.toContain("T0PSECRET");
    return ended;
  };
  return { config, folder, port, proxy, run };
}

describe("behind a proxy", () => {
  it.each([
    ["poll", "us"],
    ["test-receiver oncall", "hooks"],
    ["lookup user 8f14e45f", "us"],
    ["conformance", "us"],
  ])("%s goes through it", async (command, name) => {
    const { config, port, proxy, run } = await start();
    await run(...command.split(" "), "--config", config);
    const host = `${name}.example.com`;
    expect(new Set(proxy.asked)).toEqual(new Set([`${host}:${port}`]));
  });

  it("conformance goes through it without a configuration, too", async () => {
    const { port, proxy, run } = await start();
    await run("conformance", "--base-url", `https://us.example.com:${port}`);
    expect(new Set(proxy.asked)).toEqual(new Set([`us.example.com:${port}`]));
    const broken = await runCommand(["conformance", "--base-url", "https://us.example.com"], {
      HTTPS_PROXY: "socks5://T0PSECRET",
      SANDWATCH_API_KEY: "k",
    });
    expect(broken).toMatchObject({ code: 2, err: expect.stringMatching(/^HTTPS_PROXY must be/) });
  });

  it("the daemon goes through it, and reads certificates again with the configuration", async () => {
    const { config, folder, proxy } = await start();
    writeFileSync(join(folder, "ca.crt"), cert);
    const daemon = startSandwatch(["run", "--config", config], { HTTPS_PROXY: proxy.url });
    const lost = await daemon.line("target.lost");
    expect(lost).toContain("TLS failed (UNABLE_TO_VERIFY_LEAF_SIGNATURE)");
    writeFileSync(join(folder, "ca.crt"), ca);
    daemon.send("SIGHUP");
    await daemon.line("target.returned");
    daemon.send("SIGTERM");
    const { code, out, err } = await daemon.ended;
    expect([code, err]).toEqual([0, ""]);
    expect(out).not.toContain("T0PSECRET");
  });

  it("commands call the daemon directly, also where Node.js would use the proxy", async () => {
    const { url } = await serveUs(["research"]);
    const proxy = await startForwardProxy();
    const all = { HTTP_PROXY: proxy.url, HTTPS_PROXY: proxy.url, NODE_USE_ENV_PROXY: "1" };
    const { code, out } = await startSandwatch(["targets", "--url", url], all).ended;
    expect([code, out]).toEqual([0, expect.stringContaining("research")]);
    expect(proxy.asked).toEqual([]);
  });

  it("doctor says so, and what the proxy refuses", async () => {
    const { config, proxy, run } = await start();
    const works = await run("doctor", "--config", config);
    expect(works.out).toMatch(
      /ok {4}it answers: connection through the proxy [1-9]\d* ms, answer \d+ ms\n {2}ok {4}key research is accepted/,
    );
    for (const name of ["oncall (webhook)", "mail (email)", "tls (email)"]) {
      expect(works.out).toContain(`ok    ${name} can be reached through the proxy: `);
    }
    expect(works.out).toContain("FAIL  direct (email): host name not found");

    proxy.refuse(403);
    const refused = await run("doctor", "--config", config);
    const why = "the proxy refused the connection (HTTP 403)";
    const mend = "\n        The proxy must allow CONNECT to this host and port";
    expect(refused.code).toBe(1);
    expect(refused.out).toContain(`FAIL  ${why}${mend}`);
    expect(refused.out).toContain(`FAIL  oncall (webhook): ${why}${mend}`);

    proxy.refuse(407);
    const { out } = await run("doctor", "--config", config);
    expect(out).toContain("(HTTP 407)\n        Check the user name and the password in outbound");
    const unreachable = await runCommand(["doctor", "--config", config], {
      https_proxy: await freeAddress(),
    });
    expect(unreachable.out).toContain(
      "FAIL  the proxy cannot be reached (ECONNREFUSED)\n        Check the proxy in outbound",
    );
  });
});
