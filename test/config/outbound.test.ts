import { describe, expect, it } from "vitest";
import { loadConfig } from "../../src/config/load-config.ts";
import type { Environment } from "../../src/config/resolve-references.ts";
import type { Route } from "../../src/lib/connector.ts";
import { ca } from "../support/private-ca.ts";
import { cert } from "../support/self-signed.ts";
import { configOf, faultLines, loadText, writeFiles } from "./support.ts";

const regions = `regions: { us: { base_url: "https://us.example.com" } }\n`;
const keys = `keys: [{ name: research, api_key: k1 }]\n`;
const environment = {
  HTTPS_PROXY: "http://u:T0PSECRET@env.example.com",
  NO_PROXY: "a.example.com",
};

/** How the region and receivers are reached: the host of the proxy, what it is not used for, certificates. */
function routesOf(text: string, variables: Environment = {}) {
  const file = writeFiles({ "sandwatch.yaml": `${text}${keys}`, "ca.crt": ca, "own.crt": cert });
  const config = configOf(loadConfig(file, variables));
  const shown = ({ proxy, ca: trusted }: Route) => [
    proxy && new URL(proxy.url.reveal()).host,
    (proxy?.noProxy ?? []).map(({ domain }) => domain),
    trusted === ca ? "ca.crt" : trusted && "own.crt",
  ];
  const { us } = Object.fromEntries(config.regions);
  if (!us) throw new TypeError("no region us");
  return { region: shown(us.route), receivers: shown(config.alerts.outbound.route) };
}

const both = (route: unknown) => ({ region: route, receivers: route });

describe("a proxy", () => {
  it.each<[string, Environment, unknown]>([
    ["nothing", {}, [null, [], null]],
    ["nothing", environment, ["env.example.com", ["a.example.com"], null]],
    [
      "nothing",
      { ...environment, https_proxy: "lower.example.com:8080" },
      ["lower.example.com:8080", ["a.example.com"], null],
    ],
    [
      "nothing",
      { ...environment, no_proxy: " b.example.com,.c.example.com, 192.168.*" },
      ["env.example.com", ["b.example.com", "c.example.com"], null],
    ],
    ["nothing", { HTTPS_PROXY: "", NO_PROXY: "" }, [null, [], null]],
    ["nothing", { HTTP_PROXY: "http://plain.example.com" }, [null, [], null]],
    ["proxy_url: none", environment, [null, [], null]],
    [
      "proxy_url: http://set.example.com",
      environment,
      ["set.example.com", ["a.example.com"], null],
    ],
    ["proxy_url: http://set.example.com, no_proxy: []", environment, ["set.example.com", [], null]],
    ["no_proxy: [b.example.com]", environment, ["env.example.com", ["b.example.com"], null]],
    ["ca_file: ca.crt", environment, ["env.example.com", ["a.example.com"], "ca.crt"]],
  ])("is read from `outbound` with %s and the environment %j", (settings, variables, route) => {
    const section = settings === "nothing" ? "" : `outbound: { ${settings} }\n`;
    expect(routesOf(regions + section, variables)).toEqual(both(route));
  });

  it("can be another one for a region and for receivers, with certificates of their own", () => {
    const text = `
regions:
  us: { base_url: "https://us.example.com", proxy_url: none, ca_file: own.crt }
outbound: { proxy_url: "http://set.example.com", no_proxy: [a.example.com], ca_file: ca.crt }
alerts: { outbound: { proxy_url: "http://other.example.com" } }
`;
    expect(routesOf(text)).toEqual({
      region: [null, [], "own.crt"],
      receivers: ["other.example.com", ["a.example.com"], "ca.crt"],
    });
  });

  it("of the environment that cannot be used is an error without its value", () => {
    const loaded = loadText(regions + keys, { HTTPS_PROXY: "socks5://u:T0PSECRET@x.example" });
    expect(faultLines(loaded)).toEqual([
      expect.stringMatching(
        /outbound\.proxy_url: found the value of HTTPS_PROXY; allowed: the http/,
      ),
    ]);
  });
});

describe("certificates", () => {
  const at = (file: string) => `${regions}outbound: { ca_file: ${file} }\n${keys}`;

  it("may be many, with text between them", () => {
    const bundle = `# one\n${ca}\n# two\n${cert}${"# more\n".repeat(20_000)}`;
    const file = writeFiles({ "sandwatch.yaml": at("bundle.crt"), "bundle.crt": bundle });
    const { route } = configOf(loadConfig(file, {})).alerts.outbound;
    expect(route.ca?.match(/BEGIN CERTIFICATE/g)).toHaveLength(2);
  });

  it.each([
    ["missing", undefined, "a file that cannot be used"],
    ["without a certificate", "x", "the content of the file"],
    ["with a broken certificate", ca.replaceAll("A", "B"), "the content of the file"],
  ])("that are %s are an error with line and column", (_, content, found) => {
    const files = content === undefined ? {} : { "ca.crt": content };
    const loaded = loadConfig(writeFiles({ "sandwatch.yaml": at("ca.crt"), ...files }), {});
    expect(faultLines(loaded)).toEqual([
      expect.stringMatching(
        new RegExp(`^2:13 outbound\\.ca_file: found ${found}.*certificates in PEM`),
      ),
    ]);
  });

  it("and proxies in files and the environment are not needed to check rules", () => {
    const text = at("ca.crt").replace("ca_file", "proxy_url_file: proxy, ca_file");
    const file = writeFiles({ "sandwatch.yaml": text });
    const variables = { HTTPS_PROXY: "socks5://x.example" };
    expect(loadConfig(file, variables, { withoutSecrets: true })).toMatchObject({ kind: "ok" });
    const other = writeFiles({ "sandwatch.yaml": regions + keys });
    expect(loadConfig(other, variables, { withoutSecrets: true })).toMatchObject({ kind: "ok" });
  });
});
