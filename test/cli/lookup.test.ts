import { existsSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { answerJson, startPeer } from "../service/peer.ts";
import type { Handler } from "../service/peer.ts";
import { writeConfig } from "../support/config-file.ts";
import { freeAddress } from "../support/free-address.ts";
import { runCommand } from "../support/run-command.ts";
import { serveUs } from "./serve-us.ts";

/** A service, and a configuration for it in which nothing listens at the address of sandwatch. */
async function prepare(handler: Handler) {
  const peer = await startPeer(handler);
  const regions = { us: { base_url: `${peer.baseUrl}/us` } };
  const { config, store } = writeConfig({ regions });
  return { peer, regions, config, store };
}

/** The same with a daemon, and its address. */
async function withDaemon(handler: Handler) {
  const { peer, regions } = await prepare(handler);
  const daemon = await serveUs(["research"], undefined, { regions });
  const configOf = (listen: string): string =>
    writeConfig({ regions, store: { path: daemon.store }, http: { listen } }).config;
  return { ...daemon, peer, configOf };
}

const answering =
  (body: unknown, status?: number): Handler =>
  (_request, response) =>
    answerJson(response, body, status);

const lookup = (...args: readonly string[]) => runCommand(["lookup", ...args]);

const user = { userId: "u1", createdAt: "then", lastUsedAt: null, auth_data: { token: "S3CRET" } };

describe("lookup without a daemon", () => {
  it("calls the service, and stores nothing", async () => {
    const { peer, store, config } = await prepare(answering(user));
    expect(await lookup("user", "u/1", "--config", config)).toEqual({
      code: 0,
      out: "userId: u1\ncreatedAt: then\nlastUsedAt: null\nauth_data: [masked: object of 1 field]\n",
      err: "",
    });
    const whole = await lookup("user", "u/1", "--show-secrets", "--config", config);
    expect(whole.out).toContain("auth_data:\n  token: S3CRET\n");
    expect(await lookup("user", "--config", config, "--", "-x")).toMatchObject({ code: 0 });
    expect(peer.paths).toEqual(["/us/user/u%2F1", "/us/user/u%2F1", "/us/user/-x"]);
    expect([existsSync(store), existsSync(`${store}.lock`)]).toEqual([false, false]);
  });

  it("fails with JSON too when the service refuses", async () => {
    const { config } = await prepare(answering({}, 404));
    const ended = await lookup("user", "u1", "--json", "--config", config);
    expect(ended.code).toBe(1);
    expect(JSON.parse(ended.out)).toMatchObject({ outcome: "failed", status: 404 });
    expect(ended.err).toContain("Check the id and the region");
  });

  it.each([
    [
      { success: false, message: "suspended\u001b[2J" },
      "no such white-labeling: suspended\\u{1b}[2J",
    ],
    [{ data: {} }, "no such white-labeling: null"],
  ])("fails if a white-label response is %j", async (answer, message) => {
    const { config } = await prepare(answering(answer));
    const ended = await lookup("white-label", "c1", "--config", config);
    expect(ended).toMatchObject({ code: 1, out: "", err: expect.stringContaining(message) });
  });

  it.each([
    [["user", "--config", "CONFIG"], "missing required argument 'id'"],
    [["universes", "x", "--config", "CONFIG"], "too many arguments"],
    [["user", "..", "--config", "CONFIG"], "other than . and .."],
    [
      ["user", "u1", "--region", "su", "--config", "CONFIG"],
      "No target matches. Choose one by region and key (--region, --key): us/research.",
    ],
  ])("refuses %j with exit code 2, without a call", async (args, message) => {
    const { peer, config } = await prepare(answering(user));
    const ended = await lookup(...args.map((arg) => arg.replace("CONFIG", config)));
    expect(ended).toMatchObject({ code: 2, out: "", err: expect.stringContaining(message) });
    expect(peer.paths).toEqual([]);
  });
});

describe("lookup with a daemon", () => {
  it("calls through it, by the configuration or by the address alone", async () => {
    const { configOf, url, listen } = await withDaemon(answering(user));
    const byConfig = await lookup("user", "u1", "--config", configOf(listen));
    expect(byConfig).toMatchObject({ code: 0, out: expect.stringContaining("userId: u1") });
    expect(await lookup("user", "u1", "--url", url)).toEqual(byConfig);
    const metrics = await (await fetch(`${url}/metrics`)).text();
    expect(metrics).toContain(
      'sandwatch_api_requests_total{region="us",operation="get_user",code="200"} 2\n',
    );
  });

  it("makes no call that a daemon on the same store at another address does not count", async () => {
    const { peer, configOf } = await withDaemon(answering(user));
    const ended = await lookup("user", "u1", "--config", configOf(await freeAddress()));
    expect(ended).toMatchObject({ code: 1, out: "" });
    expect(ended.err).toContain("Give its address with --url");
    expect(peer.paths).toEqual([]);
  });
});
