import { chmodSync, mkdirSync, readFileSync, statfsSync } from "node:fs";
import { truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { pollTargets } from "../../src/api/operations/targets.ts";
import { describeDenied, describeSpace } from "../../src/cli/doctor/check-store.ts";
import { describeVisit, visit } from "../../src/cli/doctor/check-regions.ts";
import { directRoute } from "../../src/lib/connector.ts";
import { startReceiverServer } from "../notify/support/receiver-server.ts";
import { startPeer, startTcpPeer } from "../service/peer.ts";
import { writeConfig } from "../support/config-file.ts";
import { freeAddress } from "../support/free-address.ts";
import { freshStoreFile } from "../support/fresh-store.ts";
import { startOneServerService } from "../support/one-server-service.ts";
import { runCommand } from "../support/run-command.ts";
import { startSelfSigned } from "../support/self-signed.ts";
import { tempFolder } from "../support/temp-folder.ts";
import { serveUs } from "./serve-us.ts";

/** Runs it with these settings, with the JSON of its sections by their titles. */
async function diagnose(changed: object) {
  const { config } = writeConfig({ http: { listen: await freeAddress() }, ...changed });
  const shown = await runCommand(["doctor", "--config", config]);
  const { out } = await runCommand(["doctor", "--config", config, "--json"]);
  const all: string = shown.out + shown.err + out;
  expect(all).not.toContain("T0PSECRET");
  return shown;
}

/** A service whose clock is wrong by some seconds. */
async function startServiceAt(offsetSeconds: number) {
  const { baseUrl } = await startPeer((_request, response) => {
    const date = new Date(Date.now() + offsetSeconds * 1_000).toUTCString();
    response.writeHead(200, { date, "content-type": "application/json" });
    response.end('{"local_sandboxes":[],"total_count":0}');
  });
  return { us: { base_url: baseUrl } };
}

describe("doctor", () => {
  it("says that everything works, and sends nothing to receivers", async () => {
    const { baseUrl } = await startOneServerService("idle");
    const receiver = await startReceiverServer();
    const store = freshStoreFile();
    chmodSync(store, 0o600);
    const { err, out, code } = await diagnose({
      regions: { us: { base_url: baseUrl } },
      store: { path: store },
      alerts: { receivers: [{ name: "oncall", type: "webhook", url: receiver.url.reveal() }] },
    });
    expect([code, err, out]).toEqual([0, "", expect.stringMatching(/\n\nEverything works\.\n$/)]);
    expect(out).toMatch(/^ {2}ok {4}\S+ is valid: 1 target, 1 receiver$/m);
    expect(out).toMatch(/^ {2}ok {4}\d+ MiB free on the disk of /m);
    expect(out).toMatch(/^ {2}ok {4}\S+ is sound: /m);
    expect(out).toContain("ok    0 changes in the last 24 hours: kept for 400 days, they take");
    expect(out).toMatch(/^ {2}note {2}it does not run$/m);
    expect(out).toMatch(/^ {2}ok {4}it agrees with those of the services within 5 s$/m);
    expect(out).toMatch(/^ {2}ok {4}it answers: DNS \d+ ms, connection \d+ ms, answer \d+ ms$/m);
    expect(out).toMatch(/^ {2}ok {4}key research is accepted: 1 sandbox$/m);
    expect(out).toMatch(/^ {2}ok {4}oncall \(webhook\) can be reached: \d+ ms$/m);
    expect(receiver.requests).toEqual([]);
  });

  it("names what is wrong with regions and keys, and what to do", async () => {
    const { baseUrl } = await startOneServerService("idle");
    const { code, out, err } = await diagnose({
      regions: {
        us: { base_url: baseUrl },
        down: { base_url: `http://${await freeAddress()}` },
        untrusted: { base_url: await startSelfSigned() },
        unknown: { base_url: "https://sandboxes.invalid" },
        odd: { base_url: await startTcpPeer((socket) => void socket.end("SSH-2.0\r\n")) },
      },
      keys: [
        { name: "research", api_key: "simulated-T0PSECRET" },
        { name: "revoked", api_key: "revoked-T0PSECRET", regions: ["us"] },
      ],
    });
    expect([code, err]).toEqual([1, "There are 5 failures and 1 warning.\n"]);
    const failures = Array.from(
      out.matchAll(/^ {2}FAIL {2}(.*)\n {8}(.*)$/gm),
      ([, what, mend]) => [what, mend?.slice(0, 30)],
    );
    expect(failures).toEqual([
      ["key revoked: HTTP 403", "Check the key's api_key, and t"],
      ["connection refused", "Check the host and the port in"],
      ["TLS failed (DEPTH_ZERO_SELF_SIGNED_CERT)", "This machine does not trust th"],
      [expect.stringContaining("host name not found"), "Check the host and the port in"],
      [
        expect.stringMatching(/^connection failed \(HPE_|^the response is not HTTP/),
        "Check the host and the port in",
      ],
    ]);
    expect(out).toContain("key research is accepted");
  });

  it("warns of a certificate that expires soon", () => {
    const times = { dnsMs: 1, connectMs: 2, tlsMs: 3, answerMs: 4, aheadMs: 0 };
    const certificateEndsMs = Date.UTC(2026, 10, 20);
    const visited = { kind: "visited", visit: { ...times, certificateEndsMs } } as const;
    const answers = "it answers: DNS 1 ms, connection 2 ms, TLS 3 ms, answer 4 ms";
    const textsAt = (nowMs: number) => describeVisit(visited, nowMs).map(({ text }) => text);
    expect(textsAt(Date.UTC(2026, 10, 1))).toEqual([answers]);
    expect(textsAt(Date.UTC(2026, 10, 10))).toEqual([
      answers,
      "its certificate expires in 10 days",
    ]);
  });

  it.each([
    [-3, 0, /ok {4}it agrees/],
    [20, 0, /warn {2}it is (19|20|21) s behind that of us/],
    [-20, 0, /warn {2}it is (19|20|21) s ahead of that of us/],
    [-200, 1, /FAIL {2}it is (199|200|201) s ahead of that of us/],
  ])("compares the clock with a service that is %i s off", async (offset, code, line) => {
    const ended = await diagnose({ regions: await startServiceAt(offset) });
    expect(ended.code).toBe(code);
    expect(ended.out).toMatch(line);
  });

  it("compares the clock with the service whose clock differs most", async () => {
    const { us } = await startServiceAt(0);
    const { us: eu } = await startServiceAt(300);
    const { code, out } = await diagnose({ regions: { us, eu } });
    expect(code).toBe(1);
    expect(out).toMatch(/FAIL {2}it is (299|300|301) s behind that of eu/);
  });

  it("warns of a key whose listing is partial, as nothing of it is observed", async () => {
    const { baseUrl } = await startPeer((_request, response) => {
      response.writeHead(200, { "content-type": "application/json" });
      response.end('{"local_sandboxes":[],"total_count":3}');
    });
    const { out } = await diagnose({ regions: { us: { base_url: baseUrl } } });
    expect(out).toContain(
      "warn  key research is accepted: 0 sandboxes, but the listing is partial: total_count is 3, but the listing has 0 distinct sandboxes",
    );
  });

  it("names receivers that cannot be reached or are denied, without their addresses", async () => {
    const free = `http://${await freeAddress()}/T0PSECRET`;
    const { out, code } = await diagnose({
      regions: await startServiceAt(0),
      alerts: {
        outbound: { deny_networks: ["127.0.0.2"] },
        receivers: [
          { name: "inside", type: "webhook", url: "http://127.0.0.2:1/T0PSECRET" },
          { name: "gone", type: "webhook", url: free },
          {
            name: "denied",
            type: "slack",
            url: "http://169.254.169.254/T0PSECRET",
            allow_http: true,
          },
          { name: "untrusted", type: "webhook", url: `${await startSelfSigned()}/T0PSECRET` },
          {
            name: "am",
            type: "alertmanager",
            urls: [free, (await startReceiverServer()).origin],
          },
        ],
      },
    });
    expect(code).toBe(1);
    for (const line of [
      "FAIL  inside (webhook): its address is denied: ",
      "FAIL  gone (webhook): connection refused\n        Check the host",
      "FAIL  denied (slack): its address is denied: a metadata service\n        Correct its address",
      "FAIL  untrusted (webhook): TLS failed (DEPTH_ZERO_SELF_SIGNED_CERT)\n        Check its certificate",
      "FAIL  am (alertmanager), urls[0]: connection refused",
    ]) {
      expect(out).toContain(line);
    }
    expect(out).not.toContain("urls[1]");
    expect(out).not.toContain(new URL(free).host);
  });

  it("names what is wrong with the store", async () => {
    const regions = await startServiceAt(0);
    const damaged = freshStoreFile();
    const bytes = readFileSync(damaged);
    writeFileSync(damaged, bytes.fill(0xa5, 8_192, 16_384));
    chmodSync(damaged, 0o644);
    const { code, out } = await diagnose({ regions, store: { path: damaged } });
    expect(code).toBe(1);
    expect(out).toMatch(/^ {2}FAIL {2}.*(is damaged|SQLite: )/m);
    expect(out).toContain(`warn  ${damaged} can be read by other users\n        Run: chmod 600`);
    const locked = freshStoreFile();
    mkdirSync(`${locked}.lock`);
    const { out: afterLock } = await diagnose({ regions, store: { path: locked } });
    expect(afterLock).toMatch(/^ {2}FAIL {2}The store .* cannot be opened/m);
    expect(afterLock).toContain("key research is accepted");
    const path = join(tempFolder(), "deep", "store.db");
    expect((await diagnose({ regions, store: { path } })).out).toContain(
      `note  there is no store ${path} yet: the daemon creates it`,
    );
  });

  it.each([
    ["its group", 0o640],
    ["everybody", 0o604],
  ])("warns of a store that %s can read", async (_, mode) => {
    const path = freshStoreFile();
    chmodSync(path, mode);
    const { out } = await diagnose({ regions: await startServiceAt(0), store: { path } });
    expect(out).toContain(`warn  ${path} can be read by other users`);
  });

  it("distinguishes a read-only file system from a file that this user may not write", () => {
    expect(describeDenied("/data", true)).toMatchObject({
      text: "the file system of /data is read-only",
      mend: expect.stringContaining("Mount it"),
    });
    expect(describeDenied("/data", false).mend).toContain("Grant access");
  });

  it("warns of a disk without space for a backup of a large store", () => {
    const GiB = 2 ** 30;
    const levelOf = (free: number, store: number) => describeSpace("/", free, store).level;
    expect(levelOf(1.5 * GiB, 8 * GiB)).toBe("warning");
    expect(levelOf(2 * GiB, 8 * GiB)).toBe("ok");
    expect(levelOf(1.5 * GiB, 0)).toBe("ok");
    expect(levelOf(0.9 * GiB, 0)).toBe("warning");
    expect(levelOf(0.09 * GiB, 0)).toBe("failure");
  });

  it("compares the size of the store with the free space", async () => {
    const path = join(tempFolder(), "store.db");
    const { bavail, bsize } = statfsSync(tempFolder());
    writeFileSync(path, "", { mode: 0o600 });
    // It takes no space, as nothing was written to it.
    truncateSync(path, 5 * bavail * bsize);
    const { out } = await diagnose({ regions: await startServiceAt(0), store: { path } });
    expect(out).toMatch(/^ {2}(warn|FAIL) {2}\d+ MiB free on the disk of /m);
  });

  it("fails if a single one of more targets than a page of the API is down", async () => {
    const { baseUrl } = await startOneServerService("idle");
    const regions = { us: { base_url: baseUrl } };
    const others = Array.from({ length: 999 }, (_, index) => `other-${index}`);
    const keys = ["research", "revoked", ...others].map((name) => ({
      name,
      api_key: name === "research" ? "simulated-T0PSECRET" : `${name}-T0PSECRET`,
    }));
    const { daemon, listen, store: path } = await serveUs([], undefined, { regions, keys });
    await daemon.api(pollTargets, { key: ["research", "revoked"] });
    const { code, out } = await diagnose({ regions, http: { listen }, store: { path } });
    expect(out).toContain("FAIL  it runs; targets up: 1, down: 1, not polled yet: 999");
    expect(code).toBe(1);
  });

  it("asks the daemon how its targets are, or says why it does not answer", async () => {
    const regions = await startServiceAt(0);
    const { url, store: path } = await serveUs(["research"]);
    const http = { listen: new URL(url).host };
    const running = await diagnose({ regions, http, store: { path } });
    expect(running.out).toContain("ok    it runs; targets up: 0, down: 0, not polled yet: 1");
    const elsewhere = await diagnose({ regions, store: { path } });
    expect(elsewhere.out).toContain("warn  it has the store, but does not answer at http.listen");
    const free = await diagnose({ regions, http: { listen: "127.0.0.1:0" } });
    expect(free.out).toContain("note  http.listen has port 0");
  });

  it("says what has the port of http.listen, and which setting to change", async () => {
    const regions = await startServiceAt(0);
    const { baseUrl } = await startPeer((_request, response) =>
      response.setHeader("server", "cherokee/1").end("hello"),
    );
    const { listen } = await serveUs(["research"], undefined, { regions });
    const speechless = await startTcpPeer((socket) => void socket.end("SSH-2.0\r\n"));
    for (const [address, text, mend] of [
      [
        baseUrl,
        'another program has ADDRESS: it answers HTTP 200, and calls itself "cherokee/1"',
        "that program.",
      ],
      [speechless, "another program has ADDRESS: it does not speak HTTP", "that program."],
      [
        `http://${listen}`,
        "another sandwatch has ADDRESS: it monitors none of the configured targets",
        "the other one.",
      ],
    ] as const) {
      const keys = [{ name: "others", api_key: "simulated-T0PSECRET" }];
      const http = { listen: new URL(address).host };
      const { out, code } = await diagnose({ regions, keys, http });
      expect(code).toBe(1);
      const advice = `Set http.listen to another port, or stop ${mend}`;
      expect(out).toContain(`FAIL  ${text.replace("ADDRESS", address)}\n        ${advice}\n`);
    }
  });

  it("prints JSON, and every error of a configuration with exit code 2", async () => {
    const { config } = writeConfig({ regions: await startServiceAt(0) });
    const { out, err, code } = await runCommand(["doctor", "--config", config, "--json"]);
    expect([code, err]).toEqual([0, ""]);
    const { summary, sections } = JSON.parse(out);
    expect(summary).toBe("Everything works, with 1 warning.");
    expect(sections.map(({ title }: { title: string }) => title)).toEqual([
      "configuration",
      "store",
      "daemon",
      "clock",
      "region us",
    ]);
    const { config: faulty } = writeConfig({ keys: [] });
    expect(await runCommand(["doctor", "--config", faulty])).toMatchObject({
      code: 2,
      out: "",
      err: expect.stringContaining("cannot be used: 1 error"),
    });
  });

  it("does not wait for a service that does not answer", async () => {
    const silent = await startTcpPeer(() => {});
    const visited = await visit({ baseUrl: silent, route: directRoute }, AbortSignal.timeout(50));
    expect(visited).toMatchObject({ kind: "failed", failure: { detail: "no connection in time" } });
  });
});
