import { describe, expect, it } from "vitest";
import { loadConfig, parseConfig } from "../../src/config/load-config.ts";
import type { Secret } from "../../src/lib/secret.ts";
import { configOf, faultLines, receiverOf, writeFiles } from "./support.ts";

const configuration = (settings: object, type = "webhook") => ({
  regions: { us: { base_url: "https://us.example.com/" } },
  keys: [{ name: "research", api_key: "k1" }],
  alerts: {
    receivers: [{ name: "oncall", type, url: "https://hooks.example.com/x", ...settings }],
  },
});

const revealed = (headers: ReadonlyMap<string, Secret>) =>
  Array.from(headers, ([name, value]) => [name, value.reveal()]);

describe("requests of receivers", () => {
  it("send headers of their own, and a bearer token or basic authentication", () => {
    const sent = (settings: object, type: "webhook" | "heartbeat" = "webhook") =>
      revealed(receiverOf(type, configOf(parseConfig(configuration(settings, type)))).headers);
    expect(sent({})).toEqual([]);
    expect(sent({ headers: { "X-Api-Key": "a b" }, bearer_token: "t" })).toEqual([
      ["x-api-key", "a b"],
      ["authorization", "Bearer t"],
    ]);
    const basic = { basic_auth: { username: "ann", password: "p:ä" } };
    const credentials = Buffer.from("ann:p:ä").toString("base64");
    expect(sent(basic, "heartbeat")).toEqual([["authorization", `Basic ${credentials}`]]);
    expect(sent({ headers: { Authorization: "Splunk x" } })).toEqual([
      ["authorization", "Splunk x"],
    ]);
  });

  it.each([
    [{ headers: { "Content-Type": "a" } }, "headers.Content-Type"],
    [{ headers: { Host: "a" } }, "headers.Host"],
    [{ headers: { "webhook-id": "a" } }, "headers.webhook-id"],
    [{ headers: { "a b": "a" } }, "headers\\[a name that is not shown\\]"],
    [{ headers: { Team: "a", team: "b" } }, "headers.team"],
    [{ headers: { Team: "a\r\nInjected: b" } }, "headers.Team"],
    [{ headers: { Team: "ä" } }, "headers.Team"],
    [{ headers: { Team: 1 } }, "headers.Team"],
    [{ headers: { Authorization: "a" }, bearer_token: "b" }, "bearer_token"],
    [{ headers: "Team" }, "headers"],
  ])("refuse %j", (settings, at) => {
    const lines = faultLines(parseConfig(configuration(settings)));
    expect(lines).toEqual([expect.stringMatching(`^alerts\\.receivers\\[0\\]\\.${at}: found`)]);
  });

  it("may have their headers in a file, one a line", () => {
    const load = (headers: string) => {
      const text = JSON.stringify(configuration({ headers_file: "h" }));
      return loadConfig(writeFiles({ "sandwatch.yaml": text, h: headers }), {});
    };
    const { headers } = receiverOf("webhook", configOf(load("X-Key: a: b\r\n\nX-Team: c\n")));
    expect(revealed(headers)).toEqual([
      ["x-key", "a: b"],
      ["x-team", "c"],
    ]);
    expect(faultLines(load("X-Key a"))).toEqual([
      expect.stringMatching(/ alerts\.receivers\[0\]\.headers_file: found a name that is not/),
    ]);
  });
});
