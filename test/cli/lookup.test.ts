import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { createDaemon } from "../../src/app/daemon.ts";
import { createLogger } from "../../src/lib/logger.ts";
import { answerJson, startPeer } from "../service/peer.ts";
import type { Handler, Peer } from "../service/peer.ts";
import { createFakeClock } from "../support/fake-clock.ts";
import { freeAddress } from "../support/free-address.ts";
import { runCommand } from "../support/run-command.ts";
import { tempFolder } from "../support/temp-folder.ts";
import { testConfig } from "../support/test-config.ts";

const apiKey = "simulated-T0PSECRET";

interface Site {
  readonly peer: Peer;
  readonly store: string;
  readonly settings: object;
  /** Writes the configuration with some settings changed, and gives its file. */
  readonly write: (changed?: object) => string;
}

/** A service, and a configuration for it in which nothing listens at the address of sandwatch. */
async function prepare(handler: Handler): Promise<Site> {
  const peer = await startPeer(handler);
  const folder = tempFolder();
  const store = join(folder, "sandwatch.db");
  const settings = {
    regions: { us: { base_url: `${peer.baseUrl}/us` } },
    keys: [{ name: "research", api_key: apiKey }],
    store: { path: store },
    http: { listen: "127.0.0.1:0" },
  };
  const write = (changed: object = {}): string => {
    const config = join(folder, "sandwatch.yaml");
    writeFileSync(config, JSON.stringify({ ...settings, ...changed }));
    return config;
  };
  return { peer, store, settings, write };
}

/** A daemon that serves, and a configuration by which commands find it. */
async function withDaemon(handler: Handler, changed: object = {}) {
  const site = await prepare(handler);
  const daemon = await createDaemon(testConfig({ ...site.settings, ...changed }), {
    clock: createFakeClock(),
    log: createLogger({ level: "silent", format: "json" }),
  });
  onTestFinished(() => daemon.stop());
  const url = await daemon.serve();
  const config = site.write({ ...changed, http: { listen: new URL(url).host } });
  const metrics = async (): Promise<string> => (await fetch(`${url}/metrics`)).text();
  return { ...site, config, url, metrics };
}

const lookup = (...args: readonly string[]) => runCommand(["lookup", ...args]);

const user = { userId: "u1", createdAt: "then", lastUsedAt: null, auth_data: { token: "S3CRET" } };
const answerUser: Handler = (_request, response) => answerJson(response, user);
const counted = 'sandwatch_api_requests_total{region="us",operation="get_user",code="200"}';

describe("sandwatch lookup, where no sandwatch runs", () => {
  it("asks the service itself, and keeps nothing", async () => {
    const { peer, store, write } = await prepare(answerUser);
    const ended = await lookup("user", "u/1", "--config", write());
    expect(ended).toEqual({
      code: 0,
      out: "userId: u1\ncreatedAt: then\nlastUsedAt: null\nauth_data: [secret]\n",
      err: "",
    });
    expect(peer.paths).toEqual(["/us/user/u%2F1"]);
    expect([existsSync(store), existsSync(`${store}.lock`)]).toEqual([false, false]);
  });

  it("prints JSON and fails as well, when the service says no", async () => {
    const { write } = await prepare((_request, response) => answerJson(response, {}, 404));
    const ended = await lookup("user", "u1", "--json", "--config", write());
    expect(ended.code).toBe(1);
    expect(JSON.parse(ended.out)).toMatchObject({ outcome: "failed", status: 404 });
    expect(ended.err).toContain('The service knows no user "u1" in us');
  });

  it.each([
    [
      { success: false, message: "suspended\u001b[2J" },
      'no white-labeling for "c1": suspended\\u{1b}[2J',
    ],
    [{ success: false, message: null }, "it does not say why"],
    [{ data: {} }, "does not say whether"],
  ])("fails with the message of an unsuccessful white-label answer: %j", async (answer, says) => {
    const { write } = await prepare((_request, response) => answerJson(response, answer));
    const ended = await lookup("white-label", "c1", "--config", write());
    expect(ended).toMatchObject({ code: 1, out: "" });
    expect(ended.err).toContain(says);
  });

  it("prints a successful one", async () => {
    const answer = { success: true, data: { name: "Acme", token: "S3CRET" }, message: null };
    const { write } = await prepare((_request, response) => answerJson(response, answer));
    expect(await lookup("white-label", "c1", "--config", write())).toMatchObject({
      code: 0,
      out: "success: true\ndata:\n  name: Acme\n  token: [secret]\nmessage: null\n",
    });
  });

  it("takes an id that looks like an option behind --", async () => {
    const { peer, write } = await prepare(answerUser);
    expect(await lookup("user", "--config", write(), "--", "-x")).toMatchObject({ code: 0 });
    expect(peer.paths).toEqual(["/us/user/-x"]);
  });

  it.each([
    [["user", "u1"], "Give either --config FILE or --url ADDRESS"],
    [["user", "u1", "--show-secrets"], "unknown option '--show-secrets'"],
    [["user", "u1", "--url", "x"], "--url must be an address"],
    [["user"], "missing required argument 'id'"],
    [["users"], "unknown command"],
    [["universes", "x"], "too many arguments"],
  ])("is refused with exit code 2 when used wrongly: %j", async (args, says) => {
    const ended = await lookup(...args);
    expect(ended).toMatchObject({ code: 2, out: "" });
    expect(ended.err).toContain(says);
  });

  it.each([
    [["user", ".."], "other than an empty one, . and .."],
    [["user", ""], "other than an empty one, . and .."],
    [
      ["user", "u1", "--region", "su"],
      'There is no region "su". Configured: us. Did you mean "us"?',
    ],
  ])("sends nothing that makes no sense: %j", async (args, says) => {
    const { peer, write } = await prepare(answerUser);
    const ended = await lookup(...args, "--config", write());
    expect(ended).toMatchObject({ code: 2, out: "" });
    expect(ended.err).toContain(says);
    expect(peer.paths).toEqual([]);
  });

  it("says that nothing listens at the address it was given", async () => {
    const url = `http://${await freeAddress()}`;
    const ended = await lookup("user", "u1", "--url", url);
    expect(ended).toMatchObject({ code: 1, err: `Nothing listens at ${url}.\n` });
  });
});

describe("sandwatch lookup, where a sandwatch runs", () => {
  it("goes through it, by the configuration or by the address alone", async () => {
    const { config, url, metrics } = await withDaemon(answerUser);
    const byConfig = await lookup("user", "u1", "--config", config);
    const byAddress = await lookup("user", "u1", "--url", url);
    expect(byConfig).toMatchObject({ code: 0, out: expect.stringContaining("userId: u1") });
    expect(byAddress).toEqual(byConfig);
    expect(await metrics()).toContain(`${counted} 2\n`);
  });

  it("on the same store but at another address, makes no call that it does not count", async () => {
    const { peer, write } = await withDaemon(answerUser);
    const elsewhere = write({ http: { listen: await freeAddress() } });
    const ended = await lookup("user", "u1", "--config", elsewhere);
    expect(ended).toMatchObject({ code: 1, out: "" });
    expect(ended.err).toContain("Give its address with --url");
    expect(peer.paths).toEqual([]);
  });

  it("says that a response is too large for it", async () => {
    const text = "x".repeat(9 * 2 ** 20);
    const { url } = await withDaemon((_request, response) => answerJson(response, { text }));
    const byAddress = await lookup("universe-data", "n1", "--url", url);
    expect(byAddress).toMatchObject({ code: 1, out: "" });
    expect(byAddress.err).toContain("at most 8 MiB through a running sandwatch");
  });
});
