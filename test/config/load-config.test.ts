import { dirname, join } from "node:path";
import { describe, expect, it } from "vitest";
import { loadConfig } from "../../src/config/load-config.ts";
import { tempFolder } from "../support/temp-folder.ts";
import { configOf, faultLines, signingSecret, webhookOf, writeFiles } from "./support.ts";
import { exampleEnvironment } from "./whole-example.ts";

const region = 'regions: { us: { base_url: "https://us.example.com" } }\n';
const key = "keys: [{ name: research, api_key: k1 }]\n";

function load(text: string, environment: Record<string, string> = {}) {
  return loadConfig(writeFiles({ "sandwatch.yaml": text }), environment);
}

describe("the example", () => {
  const file = join(import.meta.dirname, "../../config/sandwatch.example.yaml");

  it("is a configuration", () => {
    const config = configOf(loadConfig(file, exampleEnvironment));
    expect(config.alerts.rules.map((rule) => rule.name)).toEqual([
      "server-error",
      "target-down",
      "target-partial",
      "pool-full",
      "probe-failing",
    ]);
    expect(config.probes.map(({ operation }) => operation)).toEqual([
      "get_user",
      "list_universes",
      "get_white_label",
    ]);
    expect(config.keys[0]?.apiKey.reveal()).toBe("k1");
    expect(webhookOf(config).secret?.reveal()).toBe(signingSecret);
    const types = config.alerts.receivers.map((receiver) => receiver.type);
    expect(types).toEqual(["webhook", "slack", "pagerduty", "alertmanager", "heartbeat"]);
  });

  it("names every variable that is missing, and where", () => {
    const allowed = "allowed: an environment variable that is set";
    expect(faultLines(loadConfig(file, { EU_BASE_URL: "https://eu.example.com" }))).toEqual([
      expect.stringMatching(/^\d+:9 regions\.us\.base_url: found \$\{US_BASE_URL\}, which is not/),
      expect.stringMatching(
        /^\d+:5 keys\[0\]\.api_key: found \$\{RESEARCH_API_KEY\}, which is not/,
      ),
      expect.stringMatching(/^\d+:7 alerts\.receivers\[0\]\.url: found \$\{ONCALL_WEBHOOK_URL\}/),
      expect.stringContaining(
        `found \${ONCALL_WEBHOOK_SECRET}, which is not set or empty; ${allowed}`,
      ),
      expect.stringContaining("alerts.receivers[1].url: found ${SLACK_WEBHOOK_URL}"),
      expect.stringContaining("alerts.receivers[2].routing_key: found ${PAGERDUTY_ROUTING_KEY}"),
      expect.stringMatching(/^\d+:7 alerts\.receivers\[4\]\.url: found \$\{HEARTBEAT_URL\}/),
    ]);
  });
});

describe("environment variables", () => {
  it("take their place after the YAML was read, so they cannot be taken for YAML", () => {
    const value = "https://us.example.com/a: b";
    const loaded = load(
      `regions: { us: { base_url: "\${U}" } }\n${key}store: { path: "\${P}/x" }`,
      {
        U: value,
        P: "}, http: {listen: ':1'}",
      },
    );
    expect(configOf(loaded).store.path).toBe("}, http: {listen: ':1'}/x");
    expect(configOf(loaded).http.port).toBe(9740);
  });

  it("may be several in one value, are not looked for in values, and are escaped by a second $", () => {
    const loaded = load(`${region}${key}store: { path: "\${A}-\${B}-$\${A}-$A" }`, {
      A: "${B}",
      B: "2",
    });
    expect(configOf(loaded).store.path).toBe("${B}-2-${A}-$A");
  });

  it.each(["${", "${}", "${A", "${A-B}", "${1}", "${A }"])("must be named: %j", (text) => {
    const loaded = load(`${region}${key}store: { path: "${text}" }`, {
      A: "x",
      "A-B": "y",
      "1": "z",
    });
    expect(faultLines(loaded)).toEqual([
      "3:10 store.path: found ${ without the name of a variable; allowed: ${NAME} for an environment variable, $${ for the characters themselves",
    ]);
  });

  it("are missing when empty, and when only every object has them", () => {
    const loaded = load(`${region}${key}store: { path: "\${A}\${constructor}" }`, { A: "" });
    expect(faultLines(loaded)).toHaveLength(2);
  });

  it("are named in faults instead of their value", () => {
    const loaded = load(`${region}${key}poll: { timeout: "\${A}" }\nlog: { level: "\${A}x" }`, {
      A: "inf",
    });
    expect(faultLines(loaded)).toEqual([
      "3:9 poll.timeout: found the value of ${A}; allowed: a duration such as 30s or 1h30m, from 100ms to 1h",
      expect.stringContaining("4:8 log.level: found the value of ${A}; allowed: trace, debug"),
    ]);
  });
});

describe("secret files", () => {
  const keyFile = `${region}keys: [{ name: research, api_key_file: key }]\n`;

  it("are read from the configuration's folder, without the line break at their end", () => {
    const receiver = `{ name: o, type: webhook, url_file: ./url, secret_file: "\${DIR}/secret" }`;
    const file = writeFiles({
      "sandwatch.yaml": `${keyFile}alerts: { receivers: [${receiver}] }`,
      key: "k2\r\n",
      url: "https://hooks.example.com/x\n",
      secret: `${signingSecret}\n\n`,
    });
    const config = configOf(loadConfig(file, { DIR: join(file, "..") }));
    expect(config.keys[0]?.apiKey.reveal()).toBe("k2");
    expect(webhookOf(config).url.reveal()).toBe("https://hooks.example.com/x");
    expect(webhookOf(config).secret?.reveal()).toBe(signingSecret);
  });

  it.each<[string, Record<string, string | Uint8Array>, string]>([
    ["missing", {}, "a file that cannot be used, looked for in FOLDER: it does not exist"],
    ["empty", { key: "\n" }, "an empty file, FOLDER/key"],
    [
      "too large",
      { key: "x".repeat(65_537) },
      "a file that cannot be used, FOLDER/key: it is larger than 65536 bytes",
    ],
    [
      "not text",
      { key: Uint8Array.of(0xff) },
      "a file that cannot be used, FOLDER/key: it is not UTF-8 text",
    ],
  ])("that are %s are one fault, with the path", (_title, files, found) => {
    const file = writeFiles({ "sandwatch.yaml": keyFile, ...files });
    expect(faultLines(loadConfig(file, {}))).toEqual([
      `2:26 keys[0].api_key_file: found ${found.replace("FOLDER", dirname(file))}; allowed: the path of a text file that holds the secret alone`,
    ]);
  });

  it("with a wrong content are told by the setting that was written", () => {
    const loaded = loadConfig(writeFiles({ "sandwatch.yaml": keyFile, key: "two words" }), {});
    expect(faultLines(loaded)).toEqual([
      "2:26 keys[0].api_key_file: found the content of the file; allowed: an API key of visible ASCII characters without blanks (numbers quoted), or api_key_file beside it",
    ]);
  });

  it("stand in the place of the secret, not beside it", () => {
    const both = `${region}keys: [{ name: research, api_key: k1, api_key_file: key }]`;
    expect(faultLines(loadConfig(writeFiles({ "sandwatch.yaml": both, key: "k2" }), {}))).toEqual([
      "2:39 keys[0].api_key_file: found api_key beside it; allowed: one of the two",
    ]);
  });

  it("are no devices, which might never end", () => {
    expect(faultLines(load(`${region}keys: [{ name: a, api_key_file: /dev/zero }]`))).toEqual([
      expect.stringContaining("found a file that cannot be used, /dev/zero: it is a device;"),
    ]);
  });
});

describe("the file", () => {
  it.each<[string, string, string[]]>([
    ["empty", "", ["found nothing; allowed: a mapping"]],
    ["a comment", "# nothing\n", ["found nothing; allowed: a mapping"]],
    [
      "a quote left open",
      "a: 'x",
      ["1:6: found a fault of syntax: Missing closing 'quote; allowed: YAML 1.2"],
    ],
    [
      "a tab",
      `${region}keys:\n\t- a`,
      [expect.stringContaining("3:1: found a fault of syntax: Tabs")],
    ],
    [
      "an alias for nothing",
      `${region}keys: *x`,
      ["2:7: found an alias (*) without its anchor (&); allowed: YAML 1.2"],
    ],
    [
      "a merge key",
      `regions: { us: &r { base_url: "https://x.example.com" }, eu: { <<: *r, allow_http: true } }\n${key}`,
      [
        "1:58 regions.eu.base_url: found nothing; allowed: an https address without user, password, query and fragment, such as https://us.example.com/api",
        "1:64: found a merge key (<<); allowed: YAML 1.2, which has none: an alias (*) can stand for a whole mapping",
      ],
    ],
    [
      "two documents",
      `${region}---\n${key}`,
      ["2:1: found a second document (---); allowed: one document"],
    ],
    [
      "a setting twice",
      `${region}${key}${key}poll: 1`,
      [
        "3:1: found a setting that was given before; allowed: each setting once",
        "4:1 poll: found a number; allowed: a mapping",
      ],
    ],
    [
      "a tag",
      `${region}${key}store: !x { path: a }`,
      ["3:8: found an unknown tag (!); allowed: YAML 1.2"],
    ],
    [
      "a reference without quotes between braces",
      "regions: { us: { base_url: ${A} } }",
      [
        "1:29: found something that does not belong here; allowed: YAML 1.2 (${NAME} needs quotes between { } or [ ])",
      ],
    ],
    [
      "an alias for itself",
      `&a\n${region}keys: *a`,
      ["3:1 keys: found an alias for what it stands in; allowed: an alias for another part"],
    ],
    ["too many levels", "[".repeat(5_000), [expect.stringContaining("found too many levels;")]],
  ])("with %s is faulty", (_title, text, lines) => {
    expect(faultLines(load(text)).slice(0, 3)).toEqual(lines);
  });

  it("may hold anchors and aliases", () => {
    const loaded = load(
      `regions: { us: &r { base_url: "https://x.example.com" }, eu: *r }\n${key}`,
    );
    expect([...configOf(loaded).regions.keys()]).toEqual(["us", "eu"]);
  });

  it("is not filled by aliases of aliases", () => {
    const bomb = ["a: &a [x, x, x, x, x, x, x, x, x]"];
    for (const [one, next] of ["ab", "bc", "cd", "de", "ef", "fg"]) {
      bomb.push(`${next}: &${next} [${Array.from({ length: 9 }, () => `*${one}`).join(", ")}]`);
    }
    expect(faultLines(load(bomb.join("\n")))).toEqual([
      "1:1: found too many aliases; allowed: YAML 1.2",
    ]);
  });

  it("may begin with a byte order mark", () => {
    expect(load(`\uFEFF${region}${key}`).kind).toBe("ok");
  });

  it("keeps a region with a name that every object has", () => {
    const loaded = load(`regions: { __proto__: { base_url: "https://x.example.com" } }\n${key}`);
    expect([...configOf(loaded).regions.keys()]).toEqual(["__proto__"]);
  });

  it("is faulty when it cannot be read", () => {
    const folder = tempFolder();
    const allowed = "allowed: a configuration in YAML";
    expect(faultLines(loadConfig(folder, {}))).toEqual([
      `found a file that cannot be used: it is a directory; ${allowed}`,
    ]);
    expect(faultLines(loadConfig(join(folder, "none.yaml"), {}))).toEqual([
      `found a file that cannot be used: it does not exist; ${allowed}`,
    ]);
  });
});
