import { describe, expect, it } from "vitest";
import { Secret } from "../../src/lib/secret.ts";
import type { AccessSettings } from "../../src/lib/access.ts";
import { BusyError } from "../../src/lib/refused-error.ts";
import { reportRefusals, type RefusalReason } from "../../src/web/refusals.ts";
import { createFakeClock } from "../support/fake-clock.ts";
import { sendRaw } from "./support/send-raw.ts";
import { serveWeb } from "./support/serve-web.ts";

function report() {
  const clock = createFakeClock();
  const counted: string[] = [];
  const lines: { level: string; text: string; fields: object }[] = [];
  const logAt =
    (level: string) =>
    (fields: unknown, text: unknown = "") =>
      void lines.push({ level, text: String(text), fields: Object(fields) });
  const refuse = reportRefusals({
    log: { info: logAt("info"), warn: logAt("warn") },
    clock,
    count: (reason) => counted.push(reason),
  });
  return { clock, counted, lines, refuse };
}

describe("a refusal", () => {
  it("is counted each time, and logged once a minute for its reason and address", () => {
    const { clock, counted, lines, refuse } = report();
    const sent: readonly [RefusalReason, string][] = [
      ["host", "::ffff:192.0.2.1"],
      ["host", "192.0.2.1"],
      ["role", "192.0.2.1"],
      ["host", "192.0.2.2"],
    ];
    for (const [reason, address] of sent) refuse({ reason, address });
    clock.advance(59_999);
    refuse({ reason: "host", address: "192.0.2.1" });
    expect(counted).toEqual(["host", "host", "role", "host", "host"]);
    expect(lines.map(({ fields }) => fields)).toEqual([
      { event: "http.refused", reason: "host", address: "192.0.2.1" },
      { event: "http.refused", reason: "role", address: "192.0.2.1" },
      { event: "http.refused", reason: "host", address: "192.0.2.2" },
    ]);
    clock.advance(1);
    refuse({ reason: "host", address: "192.0.2.1" });
    expect(lines).toHaveLength(4);
  });

  it("names the setting to change if one is the cause", () => {
    const { lines, refuse } = report();
    const settings: readonly [RefusalReason, string][] = [
      ["host", "http.allowed_hosts"],
      ["origin", "http.external_url"],
      ["role", "http.auth"],
      ["too_many_guesses", "http.trusted_proxies"],
      ["no_credentials", "http.auth.anonymous"],
    ];
    for (const [reason, setting] of settings) {
      refuse({ reason, address: "192.0.2.1" });
      expect(lines.at(-1)?.text).toContain(setting);
    }
  });

  it("without credentials is no warning, as browsers begin with one", () => {
    const { lines, refuse } = report();
    refuse({ reason: "no_credentials", address: "192.0.2.1" });
    refuse({ reason: "wrong_credentials", address: "192.0.2.1" });
    expect(lines.map(({ level }) => level)).toEqual(["info", "warn"]);
  });

  it("is not logged beyond 1,000 in a minute, however many addresses there are", () => {
    const { clock, counted, lines, refuse } = report();
    const fromAll = () => {
      for (let host = 0; host < 2_000; host += 1) {
        refuse({ reason: "role", address: `2001:db8::${host.toString(16)}` });
      }
    };
    fromAll();
    expect([counted.length, lines.length]).toEqual([2_000, 1_000]);
    clock.advance(60_000);
    fromAll();
    expect([counted.length, lines.length]).toEqual([4_000, 2_000]);
  });
});

describe("over HTTP", () => {
  const settings: AccessSettings = {
    anonymous: "health",
    tokens: [{ name: "prometheus", role: "metrics", token: new Secret("prometheus-token") }],
    users: [],
    proxy: null,
  };
  const host = "host: localhost\r\n";
  const bearer = (token: string) => `authorization: Bearer ${token}\r\n`;

  it.each<[string, RefusalReason, string]>([
    ["no credentials", "no_credentials", `GET / HTTP/1.1\r\n${host}`],
    ["a wrong token", "wrong_credentials", `GET / HTTP/1.1\r\n${host}${bearer("no")}`],
    ["another scheme", "wrong_credentials", `GET / HTTP/1.1\r\n${host}authorization: Digest a\r\n`],
    [
      "a role that may not",
      "role",
      `GET /api/v1/targets HTTP/1.1\r\n${host}${bearer("prometheus-token")}`,
    ],
    ["another Host", "host", "GET / HTTP/1.1\r\nhost: evil.example.com\r\n"],
    ["no Host", "host", "GET /api/v1/targets HTTP/1.1\r\n"],
    [
      "another Origin",
      "origin",
      `GET /api/v1/targets HTTP/1.1\r\n${host}origin: https://evil.example.com\r\n`,
    ],
    ["another site", "origin", `GET / HTTP/1.1\r\n${host}sec-fetch-site: cross-site\r\n`],
    ["what is no HTTP", "unreadable", "HELO\r\n"],
    ["headers that are too long", "unreadable", `GET / HTTP/1.1\r\nx: ${"a".repeat(20_000)}\r\n`],
    ["a target that is no path", "unreadable", `GET http://a/ HTTP/1.1\r\n${host}`],
    ["CONNECT, as of a proxy", "unreadable", `CONNECT a:443 HTTP/1.1\r\n${host}`],
    ["an expectation", "unreadable", `GET / HTTP/1.1\r\n${host}expect: magic\r\n`],
  ])("%s is refused as %s", async (_, reason, request) => {
    const { address, refusals } = await serveWeb({ settings });
    await sendRaw(address, `${request}connection: close\r\n\r\n`);
    expect(refusals).toEqual([{ reason, address: "127.0.0.1" }]);
  });

  it("what has to wait is refused as busy", async () => {
    const call = () => Promise.reject(new BusyError("later", 1_000));
    const events = () => Promise.reject(new BusyError("later", 1_000));
    const { get, refusals } = await serveWeb({ api: { call, events } });
    for (const path of ["/api/v1/targets", "/report", "/report?by=hour"]) {
      const { status, headers } = await get(path);
      expect([status, headers.get("retry-after")]).toEqual([429, "1"]);
    }
    expect(refusals).toEqual(
      Array.from({ length: 3 }, () => ({ reason: "busy", address: "127.0.0.1" })),
    );
  });

  it("what is answered, or not found, is no refusal", async () => {
    const { get, refusals } = await serveWeb();
    for (const path of ["/", "/-/healthy", "/nothing", "/api/nothing", "/metrics"]) await get(path);
    expect(refusals).toEqual([]);
  });
});
