import { existsSync } from "node:fs";
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { linesOf } from "../../src/cli/lookup.ts";
import { cutToWidth } from "../../src/cli/table.ts";
import type { JsonValue } from "../../src/service/json-value.ts";
import { answerJson, startPeer } from "../service/peer.ts";
import { writeConfig } from "../support/config-file.ts";
import { freeAddress } from "../support/free-address.ts";
import { runCommand } from "../support/run-command.ts";
import { serveUs } from "./serve-us.ts";

/** A service with one answer, and a configuration for it in which nothing listens at the address of sandwatch. */
async function prepare(body: unknown, status?: number) {
  const peer = await startPeer((_request, response) => answerJson(response, body, status));
  const regions = { us: { base_url: `${peer.baseUrl}/us` } };
  return { peer, regions, ...writeConfig({ regions }) };
}

/** The same with a daemon, and its address. */
async function withDaemon(body: unknown) {
  const { peer, regions } = await prepare(body);
  const daemon = await serveUs(["research"], undefined, { regions });
  const configOf = (listen: string): string =>
    writeConfig({ regions, store: { path: daemon.store }, http: { listen } }).config;
  return { ...daemon, peer, configOf };
}

const lookup = (...args: readonly string[]) => runCommand(["lookup", ...args]);

const user = { userId: "u1", createdAt: "then", lastUsedAt: null, auth_data: { token: "S3CRET" } };

describe("lookup without a daemon", () => {
  it("calls the service, and stores nothing", async () => {
    const { peer, store, config } = await prepare(user);
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

  it("fails when the service refuses, with the reason and with JSON if wanted", async () => {
    const msg = "too\u001b[2J long";
    const detail = [{ loc: ["path", "userId", 3], msg, type: "string_too_long" }];
    const { config } = await prepare({ detail }, 422);
    const ended = await lookup("user", "u1", "--json", "--config", config);
    expect(ended.code).toBe(1);
    expect(JSON.parse(ended.out)).toMatchObject({ outcome: "failed", status: 422 });
    expect(ended.err).toBe(
      "us/research: HTTP 422. Check the id if one was given, and the region's base_url.\n" +
        "  path.userId.3: too\\u{1b}[2J long (string_too_long)\n",
    );
  });

  it.each([
    [{ success: false, message: "suspended\u001b[2J" }, "suspended\\u{1b}[2J"],
    [{ data: {} }, "null"],
  ])("fails if a white-label response is %j", async (answer, message) => {
    const { config } = await prepare(answer);
    const ended = await lookup("white-label", "c1", "--config", config);
    expect(ended).toMatchObject({ code: 1, out: "" });
    expect(ended.err).toContain(`no such white-labeling: ${message}`);
  });
});

describe("lookup with a daemon", () => {
  it("calls through it, by the configuration or by the address alone", async () => {
    const { configOf, url, listen } = await withDaemon(user);
    const byConfig = await lookup("user", "u1", "--config", configOf(listen));
    expect(byConfig).toMatchObject({ code: 0, out: expect.stringContaining("userId: u1") });
    expect(await lookup("user", "u1", "--url", url)).toEqual(byConfig);
    const metrics = await (await fetch(`${url}/metrics`)).text();
    expect(metrics).toContain(
      'sandwatch_api_requests_total{region="us",operation="get_user",code="200"} 2\n',
    );
  });

  it("makes no call that a daemon on the same store at another address does not count", async () => {
    const { peer, configOf } = await withDaemon(user);
    const ended = await lookup("user", "u1", "--config", configOf(await freeAddress()));
    expect(ended).toMatchObject({ code: 1, out: "" });
    expect(ended.err).toContain("Give its address with --url");
    expect(peer.paths).toEqual([]);
  });
});

describe("what the service says", () => {
  const moving = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u;
  const hostile = fc.constantFrom(
    "\u001b[2J",
    "a\nb",
    "\u202eabc",
    "\u0085",
    "漢字",
    "e\u0301",
    "",
  );
  const anyJson = fc.jsonValue({ noUnicodeString: false }).map((value): JsonValue => {
    const read: JsonValue = JSON.parse(JSON.stringify(value));
    return read;
  });

  it("is lines that cannot move the cursor, whatever JSON it is", () => {
    const value = fc.oneof(anyJson, fc.dictionary(hostile, fc.array(hostile)));
    fc.assert(
      fc.property(value, (answer) => {
        for (const line of linesOf(answer)) expect(line).not.toMatch(moving);
      }),
    );
  });

  it("is lines as in YAML", () => {
    const answer = { a: { b: [1, { c: "x", d: [] }], e: {} }, "": "", f: "two\nlines", g: null };
    expect(linesOf(answer).join("\n")).toBe(
      String.raw`
a:
  b:
    - 1
    - c: x
      d: []
  e: {}
"": ""
f: two\u{a}lines
g: null`.trim(),
    );
  });

  it.each([
    ["abc", 3, "abc"],
    ["abcd", 3, "ab…"],
    ["漢字漢字", 7, "漢字漢…"],
    ["😀😀", 3, "😀…"],
    ["e\u0301e\u0301e\u0301", 3, "e\u0301e\u0301e\u0301"],
  ])("%s in %i columns is %s", (text, width, cut) => {
    expect(cutToWidth(text, width)).toBe(cut);
  });
});
